// Asynchronous SMTP submission for plugins: who may begin, on which connection, who is notified.
#include "services/smtp_client.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "services/endpoint.h"
#include "services/smtp_connection.h"
#include "services/stand_in.h"

namespace waybill {
namespace {

constexpr std::size_t kRememberedRelays = 256;

// A login is protected by verified TLS unless the operator chose otherwise: a plugin's own default does not count.
Result<void> protect_login(SmtpMessage& message) {
  if (message.user.empty() || (message.transport && message.transport->unverified_login)) return {};
  if (message.tls == Tls::never && !message.relay.starts_with("smtps://"))
    return fail(
        Error::Kind::invalid,
        "a login does not go out in clear: let the relay offer TLS, or write `tls: never` or `insecure: true` for the sender");
  message.tls = Tls::required;
  return {};
}

// Where a message goes, if it may go anywhere.
Result<Endpoint> relay_of(const SmtpMessage& message) {
  auto endpoint = parse_endpoint(message.relay, {"smtp", "smtps"});
  if (!endpoint) return endpoint;
  if (!endpoint->bare) return fail(Error::Kind::invalid, "the relay's URL has more than a host and a port");
  if (auto fault = fault_in(message)) return fail(Error::Kind::invalid, std::move(*fault));
  return endpoint;
}

}  // namespace

struct SmtpClient::Engine final : SmtpConnection::Owner {
  struct Relay;
  struct Line {  // a connection and whom it serves
    std::unique_ptr<SmtpConnection> connection;
    Relay* relay;
    std::uint64_t submission;  // 0: none
  };
  struct Relay {  // one host, port, kind of TLS, transport and login
    SmtpLogin login;
    std::string name;  // for people
    std::vector<SmtpConnection*> lines;
    std::deque<std::uint64_t> waiting;  // an id that is gone, or has ended, is skipped
  };
  struct Submission {
    SmtpMessage message;
    Done done;
    Relay* relay = nullptr;
    SmtpConnection* line = nullptr;  // once it has one
    std::optional<SmtpConversation> conversation;
    EventLoop::TimerId timer = 0;
    std::optional<SmtpReply> ended;
  };

  Engine(EventLoop& event_loop, const Clock& time, std::shared_ptr<const LiveSecrets> names, SmtpClientSettings limits)
      : loop(event_loop),
        clock(time),
        secrets(std::move(names)),
        settings(std::move(limits)),
        guard(loop, settings.egress, settings.resolver) {}

  ~Engine() {
    loop.cancel(timer);
    for (auto& [id, submission] : submissions) loop.cancel(submission.timer);
  }

  void begin(std::uint64_t id, Submission& submission) {
    if (const auto good = protect_login(submission.message); !good) return end(id, NetError::refused, good.error().what);
    const auto& message = submission.message;
    auto endpoint = relay_of(message);
    if (!endpoint) return end(id, NetError::refused, endpoint.error().what);
    const bool tenant = message.trust == Trust::tenant;  // whose message may name no secret
    const auto now = secrets->current();
    const auto* found = message.user.empty() || tenant ? nullptr : now->find(message.password);
    if (!message.user.empty() && found == nullptr) return end(id, NetError::refused, "the password names an unknown secret");
    auto left = message.deadline - clock.now();
    if (message.timeout > Millis::zero()) left = std::min<Clock::Monotonic::duration>(left, message.timeout);
    if (left <= Clock::Monotonic::duration::zero()) return end(id, NetError::timeout, "no time was left to begin");
    submission.timer = loop.after(left, [this, id] {
      submissions.at(id).timer = 0;
      end(id, NetError::timeout, "the time was over");
    });
    std::shared_ptr<const Secret> password;  // which keeps what was in force alive
    if (found != nullptr) password = {now, &found->front()};
    if (!tenant) return enter(id, submission, *endpoint, password, {});
    guard.judge(endpoint->authority, [this, id, endpoint = *endpoint](AddressGuard::Judgement judgement) {
      const auto waiting = submissions.find(id);
      if (waiting == submissions.end() || waiting->second.ended) return;
      if (judgement.refusal) {
        SmtpReply reply{.error = NetError::refused, .error_text = endpoint.authority + ": " + std::string(kAddressNotAllowed)};
        reply.refusal = std::move(judgement.refusal);
        return end(id, std::move(reply));
      }
      if (judgement.addresses.empty())
        return end(id, NetError::resolve, endpoint.authority + ": nobody could say what the relay's address is");
      enter(id, waiting->second, endpoint, nullptr, std::move(judgement.addresses));
    });
  }

  void enter(std::uint64_t id, Submission& submission, const Endpoint& endpoint, std::shared_ptr<const Secret> password,
             std::vector<IpAddress> addresses) {
    auto& relay = relay_for(endpoint, submission.message, std::move(password));
    relay.login.addresses = std::move(addresses);
    submission.relay = &relay;
    relay.waiting.push_back(id);
    serve(relay);
  }

  Relay& relay_for(const Endpoint& endpoint, const SmtpMessage& message, std::shared_ptr<const Secret> password) {
    if (relays.size() >= kRememberedRelays)
      std::erase_if(relays, [](const auto& entry) { return entry.second.lines.empty() && entry.second.waiting.empty(); });
    const auto tls = static_cast<char>('0' + static_cast<int>(message.tls));
    const auto trust = static_cast<char>('0' + static_cast<int>(message.trust));
    const auto key = std::string{trust, ' '} + endpoint.scheme + ' ' + endpoint.authority + ' ' + tls + ' ' + message.password +
                     ' ' + message.user + '\0' + (message.transport ? message.transport->identity : "");
    auto& relay = relays[key];
    relay.login = {endpoint.scheme + "://" + endpoint.authority,
                   message.tls,
                   message.user,
                   std::move(password),
                   message.trust,
                   {},
                   message.transport};
    relay.name = endpoint.authority;
    return relay;
  }

  // Gives the first in line a connection, as long as there are both.
  void serve(Relay& relay) {
    while (!relay.waiting.empty()) {
      const auto id = relay.waiting.front();
      const auto found = submissions.find(id);
      const bool waits = found != submissions.end() && !found->second.ended;
      auto* const idle = waits ? idle_of(relay) : nullptr;
      if (waits && idle == nullptr && relay.lines.size() >= settings.per_relay) return;
      relay.waiting.pop_front();
      if (idle != nullptr) {
        assign(*idle, id, found->second);
        converse(*idle, found->second);
      } else if (waits) {
        connect(relay, id, found->second);
      }
    }
  }

  SmtpConnection* idle_of(Relay& relay) {
    for (std::size_t i = relay.lines.size(); i-- > 0;) {
      auto* const line = relay.lines[i];
      if (line->state() != SmtpConnection::State::idle) continue;
      if (line->is_usable()) return line;
      drop(*line);
    }
    return nullptr;
  }

  void connect(Relay& relay, std::uint64_t id, Submission& submission) {
    auto made = std::make_unique<SmtpConnection>(loop, settings, *this, sessions[static_cast<std::size_t>(relay.login.trust)]);
    auto& line = *made;
    lines.emplace(&line, Line{std::move(made), &relay, 0});
    relay.lines.push_back(&line);
    assign(line, id, submission);
    if (line.open(relay.login)) return;
    end(id, NetError::refused, "the connection could not begin");
  }

  void assign(SmtpConnection& line, std::uint64_t id, Submission& submission) {
    lines.at(&line).submission = id;
    submission.line = &line;
  }

  void converse(SmtpConnection& line, Submission& submission) {
    submission.conversation.emplace(submission.message, line.offers());
    line.talk(*submission.conversation);
  }

  // SmtpConnection::Owner
  void opened(SmtpConnection& line) override { converse(line, submissions.at(lines.at(&line).submission)); }

  void not_opened(SmtpConnection& line, SmtpReply why) override {
    const auto id = lines.at(&line).submission;
    submissions.at(id).line = nullptr;
    end(id, std::move(why));
    gone(line);
  }

  void finished(SmtpConnection& line) override {
    auto& entry = lines.at(&line);
    auto& relay = *entry.relay;
    const auto id = std::exchange(entry.submission, 0);
    auto& submission = submissions.at(id);
    submission.line = nullptr;
    if (line.messages() > 1 && submission.conversation->came_too_late()) {  // the goodbye to an idle connection crossed it
      submission.conversation.reset();
      relay.waiting.push_front(id);
    } else {
      end(id, submission.conversation->result());
    }
    if (line.state() == SmtpConnection::State::idle && line.messages() >= settings.messages_per_connection) line.leave();
    if (line.state() == SmtpConnection::State::leaving) {  // its place is free
      std::erase(relay.lines, &line);
      entry.relay = nullptr;
    }
    if (line.state() == SmtpConnection::State::over) return gone(line);
    serve(relay);
  }

  void gone(SmtpConnection& line) override {
    auto* const relay = lines.at(&line).relay;
    drop(line);
    if (relay != nullptr) serve(*relay);
  }

  // The connection ends at once; the object goes in the loop's next turn: it may be the one that is telling us.
  void drop(SmtpConnection& line) {
    line.close();
    auto node = lines.extract(&line);
    if (auto* const relay = node.mapped().relay) std::erase(relay->lines, &line);
    dropped.push_back(std::move(node.mapped().connection));
    soon();
  }

  void end(std::uint64_t id, NetError error, std::string text) {
    SmtpReply reply;
    if (const auto& submission = submissions.at(id); submission.conversation) {
      reply = submission.conversation->result();
      reply.stage = SmtpStage::none;
    }
    reply.error = error;
    reply.error_text = std::move(text);
    end(id, std::move(reply));
  }

  // The end of a submission; it is told in a later turn of the loop.
  void end(std::uint64_t id, SmtpReply reply) {
    auto& submission = submissions.at(id);
    if (submission.ended) return;
    loop.cancel(std::exchange(submission.timer, 0));
    reply.recipients.resize(submission.message.recipients.size());
    if (reply.error != NetError::ok && submission.relay != nullptr)
      reply.error_text = submission.relay->name + ": " + reply.error_text;
    submission.ended = std::move(reply);
    ended.push_back(id);
    soon();
    if (auto* const line = std::exchange(submission.line, nullptr)) {  // in the middle: nothing else can be said on it
      drop(*line);
      serve(*submission.relay);
    }
  }

  void soon() {
    if (timer == 0) timer = loop.after({}, [this] { report(); });
  }

  void report() {
    timer = 0;
    for (const auto id : std::exchange(ended, {})) {
      auto node = submissions.extract(id);
      auto& submission = node.mapped();
      submission.done(id, std::move(*submission.ended));
    }
    dropped.clear();
  }

  EventLoop& loop;
  const Clock& clock;
  std::shared_ptr<const LiveSecrets> secrets;
  SmtpClientSettings settings;
  AddressGuard guard;
  EventLoop::TimerId timer = 0;
  std::uint64_t last_id = 0;
  std::unordered_map<std::uint64_t, Submission> submissions;  // nodes do not move
  std::unordered_map<std::string, Relay> relays;              // nodes do not move
  std::array<TlsSessions, 2> sessions;                        // by trust
  std::unordered_map<SmtpConnection*, Line> lines;
  std::vector<std::unique_ptr<SmtpConnection>> dropped;
  std::vector<std::uint64_t> ended;
};

SmtpClient::SmtpClient(EventLoop& loop, const Clock& clock, std::shared_ptr<const LiveSecrets> secrets,
                       SmtpClientSettings settings)
    : engine_(std::make_unique<Engine>(loop, clock, std::move(secrets), std::move(settings))) {}

SmtpClient::~SmtpClient() = default;

std::size_t SmtpClient::open() const { return engine_->submissions.size(); }

std::uint64_t SmtpClient::submit(SmtpMessage message, Done done) {
  const auto id = ++engine_->last_id;
  if (const auto& stand_in = engine_->settings.stand_in) {
    engine_->loop.post([id, done = std::move(done), reply = stand_in->mail(message)] { done(id, reply); });
    return id;
  }
  auto& submission = engine_->submissions[id];
  submission.message = std::move(message);
  submission.done = std::move(done);
  engine_->begin(id, submission);
  return id;
}

void SmtpClient::cancel(std::uint64_t id) {
  if (engine_->submissions.contains(id)) engine_->end(id, NetError::cancelled, "cancelled");
}

}  // namespace waybill
