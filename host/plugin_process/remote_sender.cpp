// The host's end of a plugin's process.
#include "plugin_process/remote_sender.h"

#include <sys/epoll.h>

#include "plugin_process/remote_questions.h"
#include "plugin_protocol/plugin_text.h"

namespace waybill::plugin_process {
namespace {

constexpr std::size_t kMaxRequestsOfACall = 64;  // open at a time
constexpr std::size_t kMaxTimersOfACall = 1024;
constexpr std::size_t kMaxUnsent = std::size_t{16} << 20;  // bytes; beyond, the process is heard when it has read some
constexpr std::size_t kFlushAt = std::size_t{128} << 10;
constexpr Millis kDestroysWithin{500};

RemoteSender& of(wb_sender* self) { return *reinterpret_cast<RemoteSender*>(self); }

}  // namespace

// What the host calls.
struct RemoteSender::Functions {
  static void send(wb_sender* self, wb_call call, const wb_job* job) { of(self).begin(call.id, Asked::send, job); }
  static void cancel(wb_sender* self, wb_call call) { of(self).stream_.put(Cancel{.call = call.id}); }
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

RemoteSender::RemoteSender(ReadyProcess ready, EventLoop& loop, const wb_host& host, RemoteOwner& owner)
    : process_(std::move(ready.process)), stream_(std::move(ready.stream)), loop_(loop), host_(host), owner_(owner) {
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
                    .ended = [this](const Exit& exit) { loop_.post([this, exit] { has_ended(exit); }); }});
}

RemoteSender::~RemoteSender() {
  if (destroyed_ && !gone_) process_->wait_for_end(kDestroysWithin);
  process_->stop_listening();
}

Result<void> RemoteSender::create(std::string_view action_type, std::string_view settings, Millis within) {
  stream_.put(Create{.action_type = action_type, .settings = settings});
  for (;;) {
    const auto frame = stream_.read(within);
    TRY(frame);
    if (frame->kind != static_cast<std::uint32_t>(Kind::created)) {
      if (!handle(*frame)) return fail(Error::Kind::invalid, "its process sends what is no message");
      continue;
    }
    Created created;
    if (!take_message(frame->body, created)) return fail(Error::Kind::invalid, "its process sends what is no message");
    abilities_ = created.abilities;
    if (created.ok != 0) return {};
    std::string words = "the plugin's create refused";
    for (const auto& problem : created.problems) {
      const std::string_view path(problem.path.ptr, problem.path.len);
      words += "; " + std::string(path) + (path.empty() ? "" : ": ") + std::string(problem.message.ptr, problem.message.len);
    }
    return fail(Error::Kind::invalid, words);
  }
}

void RemoteSender::attach() {
  attached_ = true;
  take_frames();  // those that came with the answer to create
  watch(EPOLLIN);
}

void RemoteSender::watch(std::uint32_t events) {
  if (!attached_ || gone_ || events == watched_) return;
  watched_ = events;
  loop_.watch(process_->stream(), events, [this](std::uint32_t happened) { on_events(happened); });
}

void RemoteSender::begin(std::uint64_t call, Asked asked, const wb_job* job, const wb_failure_query* query) {
  calls_[call].query = query;
  Begin begin{.call = call, .asked = static_cast<std::uint32_t>(asked), .job = *job, .since = 0, .page = {}};
  if (query != nullptr) {
    begin.since = query->since;
    begin.page = query->page;
  }
  stream_.put(begin);
  if (stream_.unsent() >= kFlushAt) flush();
}

void RemoteSender::flush() {
  if (gone_ || !attached_ || stream_.unsent() == 0) return;
  if (!stream_.flush()) return give_up("it closed its stream");
  watch((stream_.unsent() < kMaxUnsent ? EPOLLIN : 0U) | (stream_.unsent() != 0 ? EPOLLOUT : 0U));
}

void RemoteSender::end(std::uint64_t call) {
  if (!calls_.contains(call)) return;
  forget(call);
  if (!gone_) stream_.put(End{.call = call});
}

void RemoteSender::forget(std::uint64_t call) {
  const auto node = calls_.extract(call);
  if (!node) return;
  for (const auto timer : node.mapped().timers) timers_.erase(timer);  // the host drops them with the call
}

void RemoteSender::on_events(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) flush();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0 || gone_) return;
  const auto got = stream_.receive();
  if (got == HostStream::Got::something) take_frames();
  if (got == HostStream::Got::end) give_up("it closed its stream");
}

void RemoteSender::take_frames() {
  for (Frame frame; !gone_;) {
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
    case Kind::complete:
      return with<Complete>(frame, [&](auto& m) { complete(m); });
    case Kind::fetch:
      return with<Fetch>(frame, [&](auto& m) { fetch(m); });
    case Kind::abort_fetch:
      return with<AbortFetch>(frame, [&](auto& m) {
        if (const auto found = fetches_.find(m.id); found != fetches_.end())
          service<wb_http_service>(WB_HTTP_SERVICE).abort(&host_, found->second.first);
      });
    case Kind::submit:
      return with<Submit>(frame, [&](auto& m) { submit(m); });
    case Kind::abort_submission:
      return with<AbortSubmission>(frame, [&](auto& m) {
        if (const auto found = submissions_.find(m.id); found != submissions_.end())
          service<wb_smtp_service>(WB_SMTP_SERVICE).abort(&host_, found->second.first);
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
  static_cast<void>(host_.complete(&host_, wb_call{message.call}, &outcome));
}

template <class Service>
const Service& RemoteSender::service(const char* id) const {
  return *static_cast<const Service*>(host_.get_service(&host_, borrow(id)));
}

// A call that is not open may ask: the host refuses it by name.
bool RemoteSender::may_request(std::uint64_t call) {
  const auto found = calls_.find(call);
  return found == calls_.end() || found->second.requests++ < kMaxRequestsOfACall;
}

void RemoteSender::request_over(std::uint64_t call) {
  if (const auto found = calls_.find(call); found != calls_.end()) --found->second.requests;
}

void RemoteSender::fetch(Fetch& message) {
  auto& request = message.request;
  request.size = sizeof request;
  request.headers = message.headers.data();
  request.header_count = message.headers.size();
  request.body_secrets = message.body_secrets.data();
  request.body_secret_count = message.body_secrets.size();
  std::uint64_t begun = 0;
  auto user = std::make_unique<Request>(Request{this, message.call, message.id});
  const bool fits = may_request(message.call);
  if (fits && !fetches_.contains(message.id))
    begun = service<wb_http_service>(WB_HTTP_SERVICE).fetch(&host_, wb_call{message.call}, &request, &fetched, user.get());
  if (begun != 0) {
    fetches_.emplace(message.id, std::make_pair(begun, std::move(user)));
    return;
  }
  request_over(message.call);
  if (!fits) owner_.violated("too_many_requests", message.call);
  stream_.put(
      Response{.id = message.id,
               .response = {.size = 0,
                            .error = WB_NET_REFUSED,
                            .reach = WB_NOT_SENT,
                            .status = 0,
                            .truncated = 0,
                            .retry_after_ms = -1,
                            .headers = nullptr,
                            .header_count = 0,
                            .body = {},
                            .error_text = borrow(fits ? "it could not be begun" : "the call has 64 open requests already")},
               .headers = {}});
}

void RemoteSender::fetched(void* user, const wb_http_response* response) {
  const auto& request = *static_cast<const Request*>(user);
  auto& sender = *request.sender;
  if (!sender.gone_)
    sender.stream_.put(Response{
        .id = request.id, .response = *response, .headers = {response->headers, response->headers + response->header_count}});
  sender.request_over(request.call);
  sender.fetches_.erase(request.id);
}

void RemoteSender::submit(Submit& message) {
  auto& mail = message.message;
  mail.size = sizeof mail;
  mail.recipients = message.recipients.data();
  mail.recipient_count = message.recipients.size();
  std::uint64_t begun = 0;
  auto user = std::make_unique<Request>(Request{this, message.call, message.id});
  const bool fits = may_request(message.call);
  if (fits && !submissions_.contains(message.id))
    begun = service<wb_smtp_service>(WB_SMTP_SERVICE).submit(&host_, wb_call{message.call}, &mail, &submitted, user.get());
  if (begun != 0) {
    submissions_.emplace(message.id, std::make_pair(begun, std::move(user)));
    return;
  }
  request_over(message.call);
  if (!fits) owner_.violated("too_many_requests", message.call);
  stream_.put(Reply{.id = message.id,
                    .reply = {.size = 0,
                              .error = WB_NET_REFUSED,
                              .reach = WB_NOT_SENT,
                              .stage = WB_SMTP_NONE,
                              .code = 0,
                              .text = {},
                              .recipients = nullptr,
                              .recipient_count = 0,
                              .error_text = borrow(fits ? "it could not be begun" : "the call has 64 open requests already")},
                    .recipients = {}});
}

void RemoteSender::submitted(void* user, const wb_smtp_reply* reply) {
  const auto& request = *static_cast<const Request*>(user);
  auto& sender = *request.sender;
  if (!sender.gone_)
    sender.stream_.put(
        Reply{.id = request.id, .reply = *reply, .recipients = {reply->recipients, reply->recipients + reply->recipient_count}});
  sender.request_over(request.call);
  sender.submissions_.erase(request.id);
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
  if (!sender.gone_) sender.stream_.put(Fire{.id = waiting.id});
  sender.forget_timer(waiting);
  sender.timers_.erase(waiting.id);
}

void RemoteSender::log(const Log& message) const {
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
  if (attached_ && !gone_) loop_.unwatch(process_->stream());
  watched_ = 0;
  gone_ = true;
}

void RemoteSender::has_ended(const Exit& exit) {
  while (!gone_ && stream_.receive() == HostStream::Got::something) take_frames();  // its last words count
  give_up("it has ended");
  const auto inside = process_->page().inside();
  owner_.lost(exit, inside ? inside->call : 0);
}

}  // namespace waybill::plugin_process
