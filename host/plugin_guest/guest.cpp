// A plugin's strand in its own process.
#include "plugin_guest/guest.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/version.h"
#include "plugin_guest/guest_host.h"
#include "plugin_protocol/plugin_text.h"

namespace waybill::plugin_process {
namespace {

constexpr int kMalformed = 70;  // EX_SOFTWARE: what the host said cannot be read

// The host refuses what is longer by name; a little more is enough for it to see that.
constexpr std::size_t kMostWords = 4096;
constexpr std::size_t kMostOfAName = std::size_t{64} << 10;  // a relay, an address
constexpr std::size_t kMostResult = (std::size_t{1} << 20) + 1;
constexpr std::size_t kMostHeaders = 256, kMostBodySecrets = 16, kMostRecipients = 1000;
constexpr std::size_t kMostSent = std::size_t{64} << 20;
wb_str clip(const wb_str& text, std::size_t most) { return borrow(view_of(text).substr(0, most)); }

void clip(wb_outcome& outcome) {
  for (auto* text : {&outcome.reason, &outcome.detail, &outcome.provider_ref, &outcome.artifact_type})
    *text = clip(*text, kMostWords);
  for (auto* text : {&outcome.result, &outcome.artifact}) *text = clip(*text, kMostResult);
}

wb_failure clipped(const wb_failure& failure) {
  wb_failure clipped = failure;
  for (auto* text : {&clipped.provider_ref, &clipped.idempotency_key, &clipped.reason, &clipped.detail})
    *text = clip(*text, kMostWords);
  return clipped;
}

// False: there is more than a host takes, or nothing where something is said to be.
template <class Item>
bool copy_list(const Item* items, std::size_t count, std::size_t most, std::vector<Item>& into) {
  if (count > most || (items == nullptr && count != 0)) return false;
  into.assign(items, items + count);
  return true;
}

// It is not even read: its length may be none.
void leave_out_what_is_too_long(Submit& submit) {
  const auto check = [&](wb_str& text, std::size_t most) {
    if (view_of(text).size() <= most) return;
    submit.is_too_long = 1;
    text = {};
  };
  auto& message = submit.message;
  for (auto* text : {&message.relay, &message.user, &message.password, &message.from}) check(*text, kMostOfAName);
  for (auto& recipient : submit.recipients) check(recipient, kMostOfAName);
  check(message.data, kMostSent);
}

// Of all its texts, and never so long that it wraps around.
std::size_t length_of(const Fetch& fetch) {
  std::size_t length = 0;
  const auto add = [&](const wb_str& text) { length += std::min(view_of(text).size(), kMostSent + 1); };
  const auto& asked = fetch.request;
  for (const auto* text : {&asked.method, &asked.url, &asked.body, &asked.basic_user, &asked.basic_password, &asked.sigv4_region,
                           &asked.sigv4_service, &asked.sigv4_key_id, &asked.sigv4_secret_key})
    add(*text);
  for (const auto& header : fetch.headers) {
    add(header.name);
    add(header.value);
  }
  for (const auto& secret : fetch.body_secrets) add(secret.name);
  return length;
}

// What a plugin reports while it checks something, copied.
struct Reported {
  static constexpr std::size_t kMost = 1000;
  std::deque<std::string> texts;
  std::vector<ReportedProblem> problems;

  static void report(void* self, wb_str path, wb_str message) noexcept {
    try {
      auto& reported = *static_cast<Reported*>(self);
      if (reported.problems.size() >= kMost) return;
      const auto kept = [&](const wb_str& text) { return borrow(reported.texts.emplace_back(view_of(text).substr(0, 4096))); };
      const auto where = kept(path);
      reported.problems.push_back({where, kept(message)});
    } catch (...) {  // out of memory: the number that the plugin returns still tells that something is wrong
    }
  }
};

}  // namespace

Guest::Guest(const wb_plugin& plugin, Page& page)
    : plugin_(plugin), page_(page), stream_(page), face_{make_guest_host(borrow(built_version())), this} {}

void Guest::serve() {
  for (;;) dispatch(stream_.read());
}

template <class Enter>
bool Guest::throws_inside(std::uint64_t call, Enter enter) {
  bool threw = false;
  current_ = call;
  page_.enter(call);
  try {
    enter();
  } catch (...) {
    threw = true;
  }
  page_.leave();
  current_ = 0;
  forget_ended();
  return threw;
}

template <class Enter>
void Guest::enter(std::uint64_t call, Enter enter) {
  if (throws_inside(call, std::move(enter))) stream_.put(Fault{.call = call, .threw = 1, .word = borrow("threw")});
}

void Guest::forget_ended() {
  std::vector<std::unique_ptr<Call>> gone;
  const std::lock_guard lock(mutex_);
  for (const auto id : ended_)
    if (auto node = calls_.extract(id)) {
      for (const auto timer : node.mapped()->timers) timers_.erase(timer);
      gone.push_back(std::move(node.mapped()));
    }
  ended_.clear();
}

template <class Message>
Message Guest::taken(const Frame& frame) {
  Message message;
  if (!take_message(frame.body, message)) _exit(kMalformed);
  return message;
}

void Guest::dispatch(const Frame& frame) {
  switch (static_cast<Kind>(frame.kind)) {
    case Kind::check:
      return check(frame);
    case Kind::create:
      return create(frame);
    case Kind::begin:
      return begin(frame);
    case Kind::cancel:
      return cancel(frame);
    case Kind::end:
      return end(frame);
    case Kind::response:
      return respond(frame);
    case Kind::reply:
      return reply(frame);
    case Kind::fire:
      return fire(frame);
    case Kind::destroy:
      destroy();
    case Kind::ping:
      return stream_.put(Pong{.id = taken<Ping>(frame).id});
    case Kind::settle:  // a shared library does nothing between two messages
      return stream_.put(Settled{.id = taken<Settle>(frame).id});
    default:
      return;  // a newer host's
  }
}

const wb_action* Guest::action_of(std::string_view type) const {
  for (std::size_t i = 0; i < plugin_.action_count; ++i)
    if (view_of(plugin_.actions[i]->type) == type) return plugin_.actions[i];
  return nullptr;
}

void Guest::check(const Frame& frame) {
  const auto asked = taken<Check>(frame);
  Checked checked;
  Reported reported;
  if (const auto* action = action_of(asked.action_type)) {
    const auto validate = asked.what == kSettings ? action->validate_settings : action->validate_destination;
    const auto ask = [&] {
      checked.count = static_cast<std::uint32_t>(validate(borrow(asked.json), &Reported::report, &reported));
    };
    if (validate != nullptr && throws_inside(0, ask)) {
      checked.count = 1;
      Reported::report(&reported, borrow(""), borrow("the plugin failed while it checked this"));
    }
  }
  checked.problems = std::move(reported.problems);
  stream_.put(checked);
}

template <class Table>
const Table* Guest::ability(const char* id) {
  const void* table = nullptr;
  enter(0, [&] { table = vt_->get_extension(sender_, borrow(id)); });
  return static_cast<const Table*>(table);
}

void Guest::create(const Frame& frame) {
  const auto asked = taken<Create>(frame);
  settings_ = asked.settings;
  Created created;
  Reported reported;
  if (const auto* action = action_of(asked.action_type); action != nullptr && sender_ == nullptr) {
    const auto make = [&] { sender_ = action->create(&face_.host, borrow(settings_), &vt_, &Reported::report, &reported); };
    if (throws_inside(0, make)) Reported::report(&reported, borrow(""), borrow("the plugin's create threw an exception"));
  }
  if (sender_ != nullptr && (vt_ == nullptr || vt_->send == nullptr || vt_->cancel == nullptr || vt_->get_extension == nullptr ||
                             vt_->destroy == nullptr)) {
    sender_ = nullptr;
    Reported::report(&reported, borrow(""), borrow("the plugin's create gave a sender without all of its functions"));
  }
  if (sender_ != nullptr) {
    created.ok = 1;
    compose_ = ability<wb_compose>(WB_COMPOSE_EXTENSION);
    status_ = ability<wb_status>(WB_STATUS_EXTENSION);
    probe_ = ability<wb_probe>(WB_PROBE_EXTENSION);
    failures_ = ability<wb_failures>(WB_FAILURES_EXTENSION);
    if (compose_ != nullptr && compose_->compose != nullptr) created.abilities |= kComposes;
    if (status_ != nullptr && status_->status != nullptr) created.abilities |= kTellsStatus;
    if (probe_ != nullptr && probe_->probe != nullptr) created.abilities |= kProbes;
    if (failures_ != nullptr && failures_->list != nullptr) created.abilities |= kListsFailures;
  }
  created.problems = std::move(reported.problems);
  stream_.put(created);
}

void Guest::begin(const Frame& frame) {
  auto call = std::make_unique<Call>();
  call->body = frame.body;  // its texts live until the call has ended
  call->guest = this;
  if (!take_message(call->body, call->begin)) _exit(kMalformed);
  call->begin.job.size = sizeof(wb_job);
  auto& begun = *call;
  {
    const std::lock_guard lock(mutex_);
    calls_[begun.begin.call] = std::move(call);
  }
  page_.begun.fetch_add(1, std::memory_order_release);
  enter(begun.begin.call, [&] { begin_asked(begun); });
}

void Guest::begin_asked(Call& call) {
  if (sender_ == nullptr) return;
  const wb_call id{call.begin.call};
  const auto* job = &call.begin.job;
  switch (static_cast<Asked>(call.begin.asked)) {
    case Asked::send:
      return vt_->send(sender_, id, job);
    case Asked::compose:
      return compose_->compose(sender_, id, job);
    case Asked::status:
      return status_->status(sender_, id, job);
    case Asked::probe:
      return probe_->probe(sender_, id, job);
    case Asked::failures:
      call.query = {.size = sizeof(wb_failure_query),
                    .since = call.begin.since,
                    .page = call.begin.page,
                    .failure = &take_failure,
                    .next_page = &take_next_page,
                    .user = &call};
      return failures_->list(sender_, id, job, &call.query);
  }
}

void Guest::take_failure(void* user, const wb_failure* failure) noexcept try {
  const auto& call = *static_cast<const Call*>(user);
  if (failure == nullptr || !WB_HAS(failure, detail)) return call.guest->fault("invalid_failure", call.begin.call);
  call.guest->stream_.put(Failure{.call = call.begin.call, .failure = clipped(*failure)});
} catch (...) {  // out of memory: the page is short, and the next one finds the rest
}

void Guest::take_next_page(void* user, wb_str name) noexcept try {
  const auto& call = *static_cast<const Call*>(user);
  call.guest->stream_.put(NextPage{.call = call.begin.call, .name = clip(name, kMostWords)});
} catch (...) {
}

void Guest::cancel(const Frame& frame) {
  const auto asked = taken<Cancel>(frame);
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(asked.call);
    if (found == calls_.end() || found->second->has_ended) return;
  }
  enter(asked.call, [&] { vt_->cancel(sender_, wb_call{asked.call}); });
}

// The host ended the call: its timers are gone there already, and its fetches still come back.
void Guest::end(const Frame& frame) {
  const auto asked = taken<End>(frame);
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(asked.call);
    if (found == calls_.end() || found->second->has_ended) return;
    found->second->has_ended = true;
    ended_.push_back(asked.call);
  }
  forget_ended();
}

std::int32_t Guest::complete(wb_call call, const wb_outcome* said) {
  bool known = false;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = calls_.find(call.id); found != calls_.end() && !found->second->has_ended) {
      known = found->second->has_ended = true;
      ended_.push_back(call.id);
    }
  }
  Complete complete{.call = call.id, .is_outcome = 0, .outcome = {}};
  if (said != nullptr && WB_HAS(said, result)) {
    std::memcpy(&complete.outcome, said, std::min(said->size, sizeof complete.outcome));
    complete.is_outcome = 1;
    clip(complete.outcome);
  }
  stream_.put(complete);
  return known ? 0 : 1;
}

void Guest::fault(std::string_view word, std::uint64_t call) {
  stream_.put(Fault{.call = call, .threw = 0, .word = borrow(word)});
}

std::uint64_t Guest::fetch(wb_call call, const wb_http_request* asked, wb_http_done done, void* user) {
  if (!stream_.on_strand() || done == nullptr) {
    fault(done == nullptr ? "fetch_without_done" : "fetch_off_strand", call.id);
    return 0;
  }
  Fetch fetch{.call = call.id, .id = ++last_id_, .request = {}, .headers = {}, .body_secrets = {}};
  if (asked != nullptr && WB_HAS(asked, body)) {  // else it has no method, and is refused
    auto& request = fetch.request;
    request.timeout_ms = asked->timeout_ms;
    request.max_response_bytes = asked->max_response_bytes;
    request.method = asked->method;
    request.url = asked->url;
    request.body = asked->body;
    if (WB_HAS(asked, basic_password)) {
      request.basic_user = asked->basic_user;
      request.basic_password = asked->basic_password;
    }
    if (WB_HAS(asked, sigv4_secret_key)) {
      request.sigv4_region = asked->sigv4_region;
      request.sigv4_service = asked->sigv4_service;
      request.sigv4_key_id = asked->sigv4_key_id;
      request.sigv4_secret_key = asked->sigv4_secret_key;
    }
    if (!copy_list(asked->headers, asked->header_count, kMostHeaders, fetch.headers)) request.method = {};
    if (WB_HAS(asked, body_secret_count) &&
        !copy_list(asked->body_secrets, asked->body_secret_count, kMostBodySecrets, fetch.body_secrets))
      request.method = {};
  }
  if (length_of(fetch) > kMostSent)
    fetch = {.call = fetch.call, .id = fetch.id, .request = {}, .headers = {}, .body_secrets = {}};
  fetches_.emplace(fetch.id, Pending<wb_http_done>{call.id, done, user});
  stream_.put(fetch);
  return fetch.id;
}

void Guest::respond(const Frame& frame) {
  auto message = taken<Response>(frame);
  const auto node = fetches_.extract(message.id);
  if (!node) return;
  message.response.size = sizeof(wb_http_response);
  message.response.headers = message.headers.data();
  message.response.header_count = message.headers.size();
  enter(node.mapped().call, [&] { node.mapped().done(node.mapped().user, &message.response); });
}

void Guest::abort_fetch(std::uint64_t id) {
  if (!stream_.on_strand()) return fault("abort_off_strand", 0);
  stream_.put(AbortFetch{.id = id});
}

std::uint64_t Guest::submit(wb_call call, const wb_smtp_message* asked, wb_smtp_done done, void* user) {
  if (!stream_.on_strand() || done == nullptr) {
    fault(done == nullptr ? "submit_without_done" : "submit_off_strand", call.id);
    return 0;
  }
  Submit submit{.call = call.id, .id = ++last_id_, .is_too_long = 0, .message = {}, .recipients = {}};
  if (asked != nullptr && WB_HAS(asked, data)) {  // else it has no recipient, and is refused
    std::memcpy(&submit.message, asked, sizeof submit.message);
    if (!copy_list(asked->recipients, asked->recipient_count, kMostRecipients, submit.recipients))
      submit.recipients.resize(kMostRecipients + 1);  // so the host says what is wrong
    leave_out_what_is_too_long(submit);
  }
  submissions_.emplace(submit.id, Pending<wb_smtp_done>{call.id, done, user});
  stream_.put(submit);
  return submit.id;
}

void Guest::reply(const Frame& frame) {
  auto message = taken<Reply>(frame);
  const auto node = submissions_.extract(message.id);
  if (!node) return;
  message.reply.size = sizeof(wb_smtp_reply);
  message.reply.recipients = message.recipients.data();
  message.reply.recipient_count = message.recipients.size();
  enter(node.mapped().call, [&] { node.mapped().done(node.mapped().user, &message.reply); });
}

void Guest::abort_submission(std::uint64_t id) {
  if (!stream_.on_strand()) return fault("abort_off_strand", 0);
  stream_.put(AbortSubmission{.id = id});
}

std::uint64_t Guest::start_timer(wb_call call, std::int64_t delay_ms, void (*fire_plugin)(void*), void* user) {
  if (!stream_.on_strand()) {
    fault("timer_off_strand", call.id);
    return 0;
  }
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(call.id);
    if (found == calls_.end() || found->second->has_ended || fire_plugin == nullptr) {
      fault("timer_without_call", call.id);
      return 0;
    }
    found->second->timers.push_back(++last_id_);
  }
  timers_.emplace(last_id_, Pending<void (*)(void*)>{call.id, fire_plugin, user});
  stream_.put(Timer{.call = call.id, .id = last_id_, .delay_ms = delay_ms});
  return last_id_;
}

void Guest::fire(const Frame& frame) {
  const auto node = timers_.extract(taken<Fire>(frame).id);
  if (!node) return;
  enter(node.mapped().call, [&] { node.mapped().done(node.mapped().user); });
}

void Guest::cancel_timer(std::uint64_t id) {
  if (!stream_.on_strand()) return fault("timer_off_strand", 0);
  if (timers_.erase(id) != 0) stream_.put(CancelTimer{.id = id});
}

std::int32_t Guest::count(wb_str name, std::uint64_t by) {
  name = clip(name, kMostWords);
  const auto text = view_of(name);
  {
    const std::lock_guard lock(names_mutex_);
    if (counted_.contains(text)) {
      stream_.put(Count{.name = name, .by = by});
      return WB_COUNTER_OK;
    }
  }
  const auto status = questions_.ask(CountFirst{.name = name, .by = by}, [](const auto&) {});
  if (status != WB_COUNTER_OK) return status < 0 ? WB_COUNTER_BAD_NAME : status;
  const std::lock_guard lock(names_mutex_);
  counted_.emplace(text);
  return WB_COUNTER_OK;
}

void Guest::destroy() {
  if (sender_ != nullptr) enter(0, [&] { vt_->destroy(sender_); });
  stream_.flush_all();
  _exit(EXIT_SUCCESS);
}

}  // namespace waybill::plugin_process
