// The host's end of a plugin's process.
#include "plugin_process/remote_sender.h"

#include <sys/epoll.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/duration.h"
#include "plugin_process/remote_questions.h"
#include "plugin_protocol/plugin_text.h"

namespace waybill::plugin_process {
namespace {

constexpr std::size_t kMaxRequestsOfACall = 64;  // open at a time
constexpr std::size_t kMaxTimersOfACall = 1024;
constexpr std::size_t kMaxUnsent = std::size_t{16} << 20;  // bytes; beyond, the process is heard when it has read some
constexpr std::size_t kFlushAt = std::size_t{128} << 10;
constexpr std::size_t kMaxKeptBytes = std::size_t{1} << 20;  // of a call's answers
constexpr Millis kDestroysWithin{500};
constexpr Millis kStuck{500};  // inside one call: what waits behind it is not to blame
constexpr Millis kAsksAgainAfter{10};
constexpr Millis kLeastPause{10};
constexpr Millis kWaitsForNext{15'000};
constexpr Millis kCreatesWithin{15'000};
constexpr Millis kPingsEvery{1'000};
constexpr Millis kSilent{5'000};                   // outside of all calls
constexpr std::chrono::minutes kSilentInside{15};  // whatever its page says
constexpr Millis kEndsWithin{1'000};               // after its stream: that is most often how an end is seen first
constexpr std::chrono::seconds kLogsPer{10};
constexpr std::size_t kMostLogs = 200;  // in that time, so that a plugin cannot fill the log
constexpr auto kRefused = "the call has 64 open requests already, or the request could not be begun";

std::size_t fingerprint_of(const std::vector<std::string_view>& texts) {
  std::size_t all = texts.size();
  for (const auto text : texts) all = (all ^ std::hash<std::string_view>{}(text)) * 0x9E3779B97F4A7C15ULL + text.size();
  return all;
}

RemoteSender& of(wb_sender* self) { return *reinterpret_cast<RemoteSender*>(self); }

}  // namespace

// What the host calls.
struct RemoteSender::Functions {
  static void send(wb_sender* self, wb_call call, const wb_job* job) { of(self).begin(call.id, Asked::send, job); }
  static void cancel(wb_sender* self, wb_call call) {
    if (of(self).state_ == State::runs) of(self).stream_.put(Cancel{.call = call.id});
  }
  static void compose(wb_sender* self, wb_call call, const wb_job* job) { of(self).begin(call.id, Asked::compose, job); }
  static void status(wb_sender* self, wb_call call, const wb_job* job) { of(self).begin(call.id, Asked::status, job); }
  static void probe(wb_sender* self, wb_call call, const wb_job* job) { of(self).begin(call.id, Asked::probe, job); }
  static void list(wb_sender* self, wb_call call, const wb_job* job, const wb_failure_query* query) {
    of(self).begin(call.id, Asked::failures, job, query);
  }
  static const void* get_extension(wb_sender* self, wb_str id) {
    static constexpr wb_compose composes{&compose};
    static constexpr wb_status tells{&status};
    static constexpr wb_probe probes{&probe};
    static constexpr wb_failures lists{&list};
    const std::string_view name(id.ptr, id.len);
    const auto abilities = of(self).abilities_;
    if (name == WB_COMPOSE_EXTENSION && (abilities & kComposes) != 0) return &composes;
    if (name == WB_STATUS_EXTENSION && (abilities & kTellsStatus) != 0) return &tells;
    if (name == WB_PROBE_EXTENSION && (abilities & kProbes) != 0) return &probes;
    if (name == WB_FAILURES_EXTENSION && (abilities & kListsFailures) != 0) return &lists;
    return nullptr;
  }
  static void destroy(wb_sender* self) {
    of(self).stream_.put(Destroy{});
    of(self).flush();
    of(self).destroyed_ = true;
  }
};

const wb_sender_vt* RemoteSender::functions() {
  static constexpr wb_sender_vt functions{&Functions::send, &Functions::cancel, &Functions::get_extension, &Functions::destroy};
  return &functions;
}

RemoteSender::RemoteSender(ReadyProcess first, NextProcess next, bool sends_through_host, EventLoop& loop, const wb_host& host,
                           RemoteOwner& owner)
    : process_(std::move(first.process)),
      stream_(std::move(first.stream)),
      next_(std::move(next)),
      sends_through_host_(sends_through_host),
      loop_(loop),
      host_(host),
      owner_(owner) {
  listen();
}

void RemoteSender::listen() {
  process_->listen({.answer =
                        [this](std::uint32_t kind, std::string_view body, std::string& answer) {
                          std::uint64_t call = 0;
                          if (!call_of_question(kind, body, call)) return false;
                          bool answered = true;
                          if (!owner_.within(call, [&] { answered = answer_question(host_, kind, body, answer); }))
                            owner_.violated("question_without_call", call);
                          return answered;
                        },
                    .line = [this](std::string_view line) { owner_.wrote(line); },
                    .ended = [this, process = process_.get()](
                                 const Exit& exit) { loop_.post([this, process, exit] { has_ended(process, exit); }); }});
}

RemoteSender::~RemoteSender() {
  if (!process_) return;
  if (destroyed_) {
    stream_.end();  // one that could live again ends by this
    process_->wait_for_end(kDestroysWithin);
  }
  process_->stop_listening();
}

ReadyProcess RemoteSender::give_back() {
  if (attached_) loop_.unwatch(process_->stream());
  process_->stop_listening();
  const std::lock_guard lock(process_mutex_);
  return {std::move(process_), std::move(stream_), {}, {}, true};
}

std::optional<Page::Inside> RemoteSender::inside() const {
  const std::lock_guard lock(process_mutex_);
  return process_->page().inside();
}

void RemoteSender::kill(std::string_view why) {
  const std::lock_guard lock(process_mutex_);
  process_->kill(why);
}

Result<void> RemoteSender::settle(Millis within) {
  const auto until = std::chrono::steady_clock::now() + within;
  if (state_ != State::runs) return fail(Error::Kind::unavailable, "its process is gone");
  ping();
  stream_.put(Settle{.id = ++settling_});
  flush();
  while (settled_ < settling_) {
    const auto left = until - std::chrono::steady_clock::now();
    if (state_ != State::runs) return fail(Error::Kind::unavailable, "its process is gone");
    if (left <= left.zero()) return fail(Error::Kind::unavailable, "its process was busy for " + format_duration(within));
    loop_.turn(left);
  }
  if (ponged_ != pinged_) return fail(Error::Kind::invalid, "its process answers `settle`, and `ping` not before that");
  return {};
}

Result<void> RemoteSender::create(std::string_view action_type, std::string_view settings, Millis within) {
  action_type_ = action_type;
  settings_ = settings;
  stream_.put(Create{.action_type = action_type_, .settings = settings_});
  for (;;) {
    const auto frame = stream_.read(within);
    TRY(frame);
    if (frame->kind == static_cast<std::uint32_t>(Kind::created)) {
      Created created;
      if (!take_message(frame->body, created)) return fail(Error::Kind::invalid, "its process sends what is no message");
      return take_created(created);
    }
    if (!handle(*frame)) return fail(Error::Kind::invalid, "its process sends what is no message");
  }
}

Result<void> RemoteSender::take_created(const Created& created) {
  abilities_ = created.abilities;
  if (created.ok != 0) {
    state_ = State::runs;
    return {};
  }
  std::string words = "the plugin's create refused";
  for (const auto& problem : problems_of(created.problems)) words += "; " + to_string(problem);
  return fail(Error::Kind::invalid, words);
}

void RemoteSender::attach() {
  attached_ = true;
  take_frames();  // those that came with the answer to create
  watch(EPOLLIN);
  suspects_.begins(std::chrono::steady_clock::now());
  look_at_life();
}

void RemoteSender::ping() {
  stream_.put(Ping{.id = ++pinged_});
  silent_looks_ = unanswered_looks_ = 0;
}

void RemoteSender::later(EventLoop::Duration delay, EventLoop::Task task) {
  loop_.after(delay, [alive = std::weak_ptr<const int>(alive_), task = std::move(task)] {
    if (!alive.expired()) task();
  });
}

// A process that is outside of all calls has nothing to do that is longer than reading what it is told. Of what it is inside of,
// the host's own watch decides. Looks are counted, not time, so that a host that was stopped meanwhile does not take its own
// silence for the process's.
void RemoteSender::look_at_life() {
  if (destroyed_ || state_ == State::lost) return;
  later(kPingsEvery, [this] { look_at_life(); });
  if (state_ == State::creating && std::chrono::steady_clock::now() - creating_since_ > kCreatesWithin)
    return give_up("it makes no sender");
  if (state_ != State::runs) return;
  if (ponged_ == pinged_) {
    ping();
    return flush();
  }
  silent_looks_ = process_->page().inside() ? 0 : silent_looks_ + 1;
  ++unanswered_looks_;
  if (silent_looks_ * kPingsEvery > kSilent || unanswered_looks_ * kPingsEvery > kSilentInside)
    give_up("it has not answered for " + format_duration(kSilent));
}

void RemoteSender::watch(std::uint32_t events) {
  if (!attached_ || state_ >= State::gone || events == watched_) return;
  watched_ = events;
  loop_.watch(process_->stream(), events, [this](std::uint32_t happened) { on_events(happened); });
}

void RemoteSender::begin(std::uint64_t id, Asked asked, const wb_job* job, const wb_failure_query* query) {
  auto& call = calls_[id];
  call.asked = asked;
  call.job = job;
  call.query = query;
  if (state_ == State::runs && suspects_.may_begin(id)) begin_in_process(id, call);  // else the next process, or a later turn
}

void RemoteSender::begin_in_process(std::uint64_t id, Call& call) {
  call.begun_as = ++begun_;
  Begin begin{.call = id, .asked = static_cast<std::uint32_t>(call.asked), .job = *call.job, .since = 0, .page = {}};
  if (call.query != nullptr) {
    begin.since = call.query->since;
    begin.page = call.query->page;
  }
  stream_.put(begin);
  if (stream_.unsent() >= kFlushAt) flush();
}

void RemoteSender::flush() {
  if (state_ >= State::gone || !attached_ || stream_.unsent() == 0) return;
  if (!stream_.flush()) return stream_ended();
  watch((stream_.unsent() < kMaxUnsent ? EPOLLIN : 0U) | (stream_.unsent() != 0 ? EPOLLOUT : 0U));
}

RemoteSender::Begun RemoteSender::has_begun(std::uint64_t id) const {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return Begun::yes;  // and is over
  const auto& call = found->second;
  const auto inside = process_->page().inside();
  const bool is_stuck = inside && inside->call != id && Page::now() - inside->since > std::chrono::nanoseconds(kStuck).count();
  const bool has_it = state_ == State::runs && call.begun_as != 0 && call.begun_as <= process_->page().begun.load();
  if (has_it && !(is_stuck && call.requests.empty() && sends_through_host_)) return Begun::yes;
  const bool sent = std::any_of(call.requests.begin(), call.requests.end(),
                                [](const auto& request) { return request->is_open || request->was_sent; });
  return sent ? Begun::in_a_process_that_died : Begun::no;
}

void RemoteSender::end(std::uint64_t call) {
  if (!calls_.contains(call)) return;
  forget(call);
  if (state_ == State::runs) stream_.put(End{.call = call});
}

void RemoteSender::forget(std::uint64_t id) {
  auto node = calls_.extract(id);
  if (!node) return;
  suspects_.ended(id);
  drop_timers(node.mapped().timers);
  for (auto& request : node.mapped().requests) {
    if (!request->is_open) {
      requests_.erase(request->id);
      continue;
    }
    auto* const open = request.get();  // the host tells of its end
    orphans_.emplace(open, std::move(request));
  }
}

void RemoteSender::on_events(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) flush();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0 || state_ >= State::gone) return;
  const auto got = stream_.receive();
  if (got == HostStream::Got::something) take_frames();
  if (got == HostStream::Got::end) stream_ended();
}

// The kernel closes the streams of a process that ends before it tells of the end: only one that lives on has closed its own.
void RemoteSender::stream_ended() {
  while (state_ < State::gone && stream_.receive() == HostStream::Got::something) take_frames();  // its last words count
  if (state_ >= State::gone) return;
  if (attached_) loop_.unwatch(process_->stream());
  watched_ = 0;
  state_ = State::gone;
  later(kEndsWithin, [this, process = std::weak_ptr<Process>(process_)] {
    if (const auto still = process.lock(); still && still == process_) still->kill("it closed its stream");
  });
}

void RemoteSender::take_frames() {
  for (Frame frame; state_ < State::gone;) {
    const auto next = stream_.next(frame);
    if (next == Frames::Next::more) return;
    if (next == Frames::Next::fault || !handle(frame)) return give_up("it sends what is no message");
  }
}

template <class Message, class Use>
bool RemoteSender::with(const Frame& frame, Use use) {
  Message message;
  if (!take_message(frame.body, message)) return false;
  use(message);
  return true;
}

bool RemoteSender::handle(const Frame& frame) {
  switch (static_cast<Kind>(frame.kind)) {
    case Kind::created:
      return with<Created>(frame, [&](auto& m) {
        if (state_ != State::creating) return give_up("it creates a sender that nobody asked for");
        if (const auto taken = take_created(m); !taken) return give_up(taken.error().what);
        begin_all_again();
      });
    case Kind::complete:
      return with<Complete>(frame, [&](auto& m) { complete(m); });
    case Kind::fetch:
      return with<Fetch>(frame, [&](auto& m) { fetch(m); });
    case Kind::abort_fetch:
      return with<AbortFetch>(frame, [&](auto& m) {
        if (const auto found = requests_.find(m.id);
            found != requests_.end() && !found->second->is_mail && found->second->is_open)
          service<wb_http_service>(WB_HTTP_SERVICE).abort(&host_, found->second->begun);
      });
    case Kind::submit:
      return with<Submit>(frame, [&](auto& m) { submit(m); });
    case Kind::abort_submission:
      return with<AbortSubmission>(frame, [&](auto& m) {
        if (const auto found = requests_.find(m.id); found != requests_.end() && found->second->is_mail && found->second->is_open)
          service<wb_smtp_service>(WB_SMTP_SERVICE).abort(&host_, found->second->begun);
      });
    case Kind::timer:
      return with<Timer>(frame, [&](auto& m) { start_timer(m); });
    case Kind::cancel_timer:
      return with<CancelTimer>(frame, [&](auto& m) {
        const auto node = timers_.extract(m.id);
        if (!node) return;
        forget_timer(*node.mapped().second);
        service<wb_timer_service>(WB_TIMER_SERVICE).cancel(&host_, node.mapped().first);
      });
    case Kind::failure:
      return with<Failure>(frame, [&](auto& m) { list_failure(m); });
    case Kind::next_page:
      return with<NextPage>(frame, [&](auto& m) {
        const auto found = calls_.find(m.call);
        if (found == calls_.end() || found->second.query == nullptr) return owner_.violated("failure_after_end", m.call);
        found->second.query->next_page(found->second.query->user, m.name);
      });
    case Kind::log:
      return with<Log>(frame, [&](auto& m) { log(m); });
    case Kind::count:
      return with<Count>(
          frame, [&](auto& m) { static_cast<void>(service<wb_counter_service>(WB_COUNTER_SERVICE).add(&host_, m.name, m.by)); });
    case Kind::pong:
      return with<Pong>(frame, [&](auto& m) { ponged_ = m.id; });
    case Kind::settled:
      return with<Settled>(frame, [&](auto& m) { settled_ = m.id; });
    case Kind::fault:
      return with<Fault>(frame, [&](auto& m) {
        if (m.threw != 0) return owner_.threw(m.call);
        constexpr std::size_t kMaxWord = 64;
        std::string word(std::string_view(m.word.ptr, m.word.len).substr(0, kMaxWord));
        for (auto& c : word)
          if ((c < 'a' || c > 'z') && c != '_') c = '_';
        owner_.violated(word, m.call);
      });
    default:
      return false;
  }
}

void RemoteSender::complete(const Complete& message) {
  auto outcome = message.outcome;
  outcome.size = sizeof outcome;
  forget(message.call);
  static_cast<void>(host_.complete(&host_, wb_call{message.call}, message.is_outcome != 0 ? &outcome : nullptr));
}

template <class Service>
const Service& RemoteSender::service(const char* id) const {
  return *static_cast<const Service*>(host_.get_service(&host_, borrow(id)));
}

RemoteSender::Request* RemoteSender::asked_before(Call& call, std::size_t fingerprint, bool is_mail) {
  for (const auto& request : call.requests)
    if (request->id == 0 && request->is_mail == is_mail && request->fingerprint == fingerprint) return request.get();
  return nullptr;
}

// False: the call asks for too much at a time, or for something else than the process before it had sent. A call that is not open
// may ask: the host refuses it by name.
bool RemoteSender::may_begin(Call* call, std::uint64_t id) {
  if (call == nullptr) return true;
  const bool does_otherwise = std::any_of(call->requests.begin(), call->requests.end(), [](const auto& request) {
    return request->id == 0 && (request->is_open || request->was_sent);
  });
  if (does_otherwise) {
    owner_.cannot_repeat(id);
    return false;
  }
  if (call->open_requests < kMaxRequestsOfACall) return true;
  owner_.violated("too_many_requests", id);
  return false;
}

void RemoteSender::add_request(std::uint64_t id, Call* call, std::unique_ptr<Request> request) {
  auto* const added = request.get();
  requests_[id] = added;
  if (call == nullptr) {
    orphans_.emplace(added, std::move(request));
    return;
  }
  ++call->open_requests;
  call->requests.push_back(std::move(request));
}

void RemoteSender::fetch(Fetch& message) {
  const auto found = calls_.find(message.call);
  auto* const call = found == calls_.end() ? nullptr : &found->second;
  const auto fingerprint =
      fingerprint_of({view_of(message.request.method), view_of(message.request.url), view_of(message.request.body)});
  if (call != nullptr)
    if (auto* const before = asked_before(*call, fingerprint, false)) return take_over(*before, message.id);
  auto& request = message.request;
  request.size = sizeof request;
  request.headers = message.headers.data();
  request.header_count = message.headers.size();
  request.body_secrets = message.body_secrets.data();
  request.body_secret_count = message.body_secrets.size();
  if (!requests_.contains(message.id) && may_begin(call, message.call)) {
    auto user = std::make_unique<Request>(Request{this, message.call, message.id, 0, fingerprint, false});
    user->begun = service<wb_http_service>(WB_HTTP_SERVICE).fetch(&host_, wb_call{message.call}, &request, &fetched, user.get());
    if (user->begun != 0) return add_request(message.id, call, std::move(user));
  }
  stream_.put(Response{.id = message.id,
                       .response = {.size = 0,
                                    .error = WB_NET_REFUSED,
                                    .reach = WB_NOT_SENT,
                                    .status = 0,
                                    .truncated = 0,
                                    .retry_after_ms = -1,
                                    .headers = nullptr,
                                    .header_count = 0,
                                    .body = {},
                                    .error_text = borrow(kRefused)},
                       .headers = {}});
}

void RemoteSender::fetched(void* user, const wb_http_response* response) {
  auto& request = *static_cast<Request*>(user);
  std::string frame;
  put_frame(frame, Response{.id = request.id,
                            .response = *response,
                            .headers = {response->headers, response->headers + response->header_count}});
  auto& sender = *request.sender;
  sender.answered(request, std::move(frame), response->reach != WB_NOT_SENT);
  sender.owner_.answered();
}

void RemoteSender::submit(Submit& message) {
  const auto found = calls_.find(message.call);
  auto* const call = found == calls_.end() ? nullptr : &found->second;
  std::vector<std::string_view> asked{view_of(message.message.relay), view_of(message.message.from),
                                      view_of(message.message.data)};
  for (const auto& recipient : message.recipients) asked.push_back(view_of(recipient));
  const auto fingerprint = fingerprint_of(asked);
  if (call != nullptr)
    if (auto* const before = asked_before(*call, fingerprint, true)) return take_over(*before, message.id);
  auto& mail = message.message;
  mail.size = sizeof mail;
  mail.recipients = message.recipients.data();
  mail.recipient_count = message.recipients.size();
  if (message.is_too_long != 0) mail.data = {"", std::numeric_limits<std::size_t>::max()};  // refused before it is read
  if (!requests_.contains(message.id) && may_begin(call, message.call)) {
    auto user = std::make_unique<Request>(Request{this, message.call, message.id, 0, fingerprint, true});
    user->begun = service<wb_smtp_service>(WB_SMTP_SERVICE).submit(&host_, wb_call{message.call}, &mail, &submitted, user.get());
    if (user->begun != 0) return add_request(message.id, call, std::move(user));
  }
  stream_.put(Reply{.id = message.id,
                    .reply = {.size = 0,
                              .error = WB_NET_REFUSED,
                              .reach = WB_NOT_SENT,
                              .stage = WB_SMTP_NONE,
                              .code = 0,
                              .text = {},
                              .recipients = nullptr,
                              .recipient_count = 0,
                              .error_text = borrow(kRefused)},
                    .recipients = {}});
}

void RemoteSender::submitted(void* user, const wb_smtp_reply* reply) {
  auto& request = *static_cast<Request*>(user);
  std::string frame;
  put_frame(
      frame,
      Reply{.id = request.id, .reply = *reply, .recipients = {reply->recipients, reply->recipients + reply->recipient_count}});
  auto& sender = *request.sender;
  sender.answered(request, std::move(frame), reply->reach != WB_NOT_SENT);
  sender.owner_.answered();
}

// A process that died had it begun: what comes of it is the answer to this one.
void RemoteSender::take_over(Request& request, std::uint64_t id) {
  request.id = id;
  requests_[id] = &request;
  if (!request.is_open) put_answer(request);
}

void RemoteSender::put_answer(const Request& request) { stream_.put_again(request.answer, request.id); }

// The answer is kept while its call is open: another process may ask for it again.
void RemoteSender::answered(Request& request, std::string frame, bool was_sent) {
  request.is_open = false;
  request.was_sent = was_sent;
  request.answer = std::move(frame);
  if (request.id != 0 && state_ == State::runs) put_answer(request);
  const auto found = calls_.find(request.call);
  if (found == calls_.end()) {
    requests_.erase(request.id);
    orphans_.erase(&request);
    return;
  }
  auto& call = found->second;
  --call.open_requests;
  call.kept_bytes += request.answer.size();
  if (call.kept_bytes <= kMaxKeptBytes && call.requests.size() <= kMaxRequestsOfACall) return;
  call.can_repeat = false;
  requests_.erase(request.id);
  std::erase_if(call.requests, [&](const auto& one) { return one.get() == &request; });
}

void RemoteSender::start_timer(const Timer& message) {
  const auto found = calls_.find(message.call);
  if (found == calls_.end() || found->second.timers.size() >= kMaxTimersOfACall || timers_.contains(message.id))
    return owner_.violated("timer_without_call", message.call);
  auto user = std::make_unique<Waiting>(Waiting{this, message.call, message.id});
  const auto begun =
      service<wb_timer_service>(WB_TIMER_SERVICE).after(&host_, wb_call{message.call}, message.delay_ms, &fired, user.get());
  if (begun == 0) return;
  found->second.timers.push_back(message.id);
  timers_.emplace(message.id, std::make_pair(begun, std::move(user)));
}

void RemoteSender::forget_timer(const Waiting& waiting) {
  if (const auto found = calls_.find(waiting.call); found != calls_.end()) std::erase(found->second.timers, waiting.id);
}

void RemoteSender::fired(void* user) {
  const auto& waiting = *static_cast<const Waiting*>(user);
  auto& sender = *waiting.sender;
  if (sender.state_ == State::runs) sender.stream_.put(Fire{.id = waiting.id});
  sender.forget_timer(waiting);
  sender.timers_.erase(waiting.id);
  sender.owner_.answered();
}

void RemoteSender::log(const Log& message) {
  const auto now = std::chrono::steady_clock::now();
  if (now - logged_since_ >= kLogsPer) {
    logged_since_ = now;
    logged_ = 0;
  }
  if (++logged_ == kMostLogs + 1) return owner_.violated("too_many_logs", message.call);
  if (logged_ > kMostLogs) return;
  host_.log(&host_, wb_call{message.call}, message.level, message.text, message.fields.data(), message.fields.size());
}

void RemoteSender::list_failure(const Failure& message) {
  const auto found = calls_.find(message.call);
  if (found == calls_.end() || found->second.query == nullptr) return owner_.violated("failure_after_end", message.call);
  auto failure = message.failure;
  failure.size = sizeof failure;
  found->second.query->failure(found->second.query->user, &failure);
}

// What it still says does not count; what becomes of its calls is decided when it has ended.
void RemoteSender::give_up(std::string_view why) {
  process_->kill(why);
  if (state_ >= State::gone) return;
  if (attached_) loop_.unwatch(process_->stream());
  watched_ = 0;
  state_ = State::gone;
}

void RemoteSender::has_ended(const Process* process, const Exit& exit) {
  if (process != process_.get() || destroyed_) return;
  while (state_ < State::gone && stream_.receive() == HostStream::Got::something) take_frames();  // its last words count
  give_up("it has ended");
  gone_since_ = std::chrono::steady_clock::now();
  const auto inside = process_->page().inside();
  const auto begun = process_->page().begun.load();
  // What it had begun, and could send by itself, nobody can begin again.
  std::vector<std::uint64_t> unsure, open;
  for (auto& [id, call] : calls_) {
    drop_timers(call.timers);
    call.timers.clear();
    for (auto& request : call.requests) request->id = 0;
    const bool had_begun = call.begun_as != 0 && (call.begun_as <= begun || !call.requests.empty());
    if (had_begun) open.push_back(id);
    if (had_begun && (!sends_through_host_ || !call.can_repeat)) unsure.push_back(id);
    call.begun_as = 0;
  }
  requests_.clear();
  for (auto& [request, kept] : orphans_) request->id = 0;
  std::sort(open.begin(), open.end());
  const bool is_named = inside && inside->call != 0;
  const auto culprit = suspects_.died(open, is_named ? std::optional(inside->call) : std::nullopt, gone_since_);
  owner_.died(exit, culprit.value_or(0));
  for (const auto id : unsure)
    if (calls_.contains(id)) owner_.cannot_repeat(id);
  take_next(true);
}

void RemoteSender::take_next(bool after_death) {
  if (destroyed_ || state_ != State::gone) return;
  auto next = next_(after_death);
  if (!next) {
    if (std::chrono::steady_clock::now() - gone_since_ > kWaitsForNext) {
      state_ = State::lost;
      return owner_.lost(next.error().what);
    }
    later(kAsksAgainAfter, [this] { take_next(false); });
    return;
  }
  process_->stop_listening();
  {
    const std::lock_guard lock(process_mutex_);
    process_ = std::move(next->process);
  }
  stream_ = std::move(next->stream);
  state_ = State::creating;
  creating_since_ = std::chrono::steady_clock::now();
  ponged_ = pinged_;
  begun_ = 0;
  listen();
  stream_.put(Create{.action_type = action_type_, .settings = settings_});
  flush();
  watch(EPOLLIN);
}

void RemoteSender::begin_all_again() {
  suspects_.begins(std::chrono::steady_clock::now());
  std::vector<std::uint64_t> ids;
  for (const auto& [id, call] : calls_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (const auto id : ids) {
    if (const auto found = calls_.find(id); found != calls_.end() && state_ == State::runs && suspects_.may_begin(id))
      begin_in_process(id, found->second);
  }
  look_at_suspects();
}

// Begins those held back whose turn it is, now and later.
void RemoteSender::look_at_suspects() {
  if (state_ != State::runs || destroyed_) return;
  const auto now = std::chrono::steady_clock::now();
  const bool was_any = suspects_.is_any();
  for (const auto id : suspects_.tried(now))
    if (const auto found = calls_.find(id); found != calls_.end() && found->second.begun_as == 0)
      begin_in_process(id, found->second);
  if (was_any) flush();
  const auto due = suspects_.due();
  if (!due || looks_at_suspects_) return;
  looks_at_suspects_ = true;
  later(std::max<EventLoop::Duration>(*due - now, kLeastPause), [this] {
    looks_at_suspects_ = false;
    look_at_suspects();
  });
}

void RemoteSender::drop_timers(const std::vector<std::uint64_t>& timers) {
  for (const auto timer : timers)
    if (const auto node = timers_.extract(timer)) service<wb_timer_service>(WB_TIMER_SERVICE).cancel(&host_, node.mapped().first);
}

}  // namespace waybill::plugin_process
