// A plugin's sender with its strand, the one thread that enters the plugin once it is created: how calls begin and end, and how
// it is entered.
#include "senders/plugin_sender.h"

#include <algorithm>
#include <future>

#include "plugin_library/plugin_descriptor.h"
#include "plugin_protocol/plugin_text.h"
#include "senders/host_face.h"
#include "senders/outcome_check.h"

namespace waybill {
namespace {

constexpr int kAttemptsPerTurn = 64;  // then sockets get their turn
constexpr std::size_t kFlushAt = 256;
constexpr Seconds kCreateWithin{5};

constexpr std::string_view kPluginError = "plugin_error";

Outcome plugin_error() {
  return {.reason = std::string(kPluginError), .detail = "the plugin threw an exception"};  // transient, maybe sent
}

// It is about the destination, whose name may have another address tomorrow; a tenant's attempts count all the same. The words
// are the host's: a plugin might repeat what a tenant must not learn.
void describe_refusal(Outcome& outcome, Trust trust) {
  if (outcome.verdict != Verdict::transient || outcome.reach != Reach::not_sent) return;
  outcome.reason = "address_not_allowed";
  outcome.detail = "the destination's address is not allowed";
  outcome.scope = trust == Trust::tenant ? Scope::this_job : Scope::whole_target;
}

}  // namespace

PluginSender::PluginSender(SenderParts parts)
    : parts_(std::move(parts)),
      entry_(parts_.clock, parts_.breadcrumbs ? parts_.breadcrumbs->line(parts_.type.name, parts_.plugin) : Breadcrumb()),
      queue_([this] { loop_.post([this] { work(); }); }),
      http_(loop_, parts_.clock, parts_.secrets, parts_.http),
      authorized_http_(loop_, parts_.clock, http_, parts_.secrets, parts_.oauth2,
                       [this](const std::string& client, const std::string& why) {
                         parts_.log.warn(
                             "oauth2.refused",
                             {{"action_type", parts_.type.name}, {"client", client}, {"error", clean_text(why, 500)}});
                       }),
      mail_(loop_, parts_.clock, parts_.secrets,
            {.egress = parts_.http.egress, .resolver = parts_.http.resolver, .stand_in = parts_.http.stand_in}),
      face_{HostFace::make(), this} {
  loop_.at_turn_end([this] { end_turn(); });
}

// One call of a plugin's create, on a thread of its own: if it hangs, that thread keeps all that it can reach.
struct PluginSender::Creation {
  std::unique_ptr<PluginSender> sender;
  ReportedProblems reported;
  bool threw = false;
  std::promise<void> over;

  void run() {
    auto& made = *sender;
    threw = made.entry_.enter(0, nullptr, [&] {
      made.self_ = made.parts_.action->create(&made.face_.host, borrow(made.parts_.settings), &made.vt_,
                                              &ReportedProblems::report, &reported);
    });
    over.set_value();
  }
};

Result<std::unique_ptr<PluginSender>> PluginSender::create(SenderParts parts) {
  const auto creation = std::make_shared<Creation>();
  creation->sender.reset(new PluginSender(std::move(parts)));
  auto over = creation->over.get_future();
  std::thread([creation] { creation->run(); }).detach();
  if (over.wait_for(kCreateWithin) != std::future_status::ready)
    return fail(Error::Kind::unavailable,
                "the plugin's create did not come back within " + std::to_string(kCreateWithin.count()) + " s");
  if (creation->threw) return fail(Error::Kind::invalid, "the plugin's create threw an exception");
  auto sender = std::move(creation->sender);
  if (sender->self_ == nullptr) {
    std::string why = "the plugin's create refused";
    for (const auto& problem : creation->reported.problems) why += "; " + to_string(problem);
    return fail(Error::Kind::invalid, clean_text(why, 1000));
  }
  const auto* vt = sender->vt_;
  if (vt == nullptr || vt->send == nullptr || vt->cancel == nullptr || vt->get_extension == nullptr || vt->destroy == nullptr)
    return fail(Error::Kind::invalid, "the plugin's create gave a sender without all of its functions");
  sender->thread_ = std::thread([self = sender.get()] { self->run(); });
  return sender;
}

PluginSender::~PluginSender() {
  while (thread_.joinable()) join(Seconds{60});
}

void PluginSender::run() {
  strand_ = std::this_thread::get_id();
  if (remote_) remote_->attach();
  find_compose();
  loop_.run();
  queue_.finish();
}

bool PluginSender::join(Millis within) {
  queue_.close();
  if (!queue_.wait_for_finish(within)) return false;
  if (thread_.joinable()) thread_.join();
  return true;
}

void PluginSender::send(std::vector<Attempt> attempts) {
  const auto now = parts_.clock.now();
  queue_.push([&](auto push) {
    for (auto& attempt : attempts) {
      const auto deadline = now + attempt.deadline;
      const bool claimed_on_insert = attempt.job->claimed_on_insert;
      push({std::move(attempt), deadline}, claimed_on_insert);
    }
  });
}

bool PluginSender::withdraw(CallId call) { return queue_.withdraw(call); }

void PluginSender::cancel(CallId call) { queue_.cancel(call); }

void PluginSender::ended(CallId call) {
  if (on_strand()) {
    const auto found = calls_.find(call.value);
    if (found == calls_.end()) {
      withdraw(call);  // the plugin guessed the number of a call that had not begun
      return;
    }
    found->second.ended = true;
    ended_.push_back(call.value);
    return;
  }
  queue_.ended(call);
}

void PluginSender::left(std::uint64_t call, bool threw) {
  if (threw) {
    record_violation("threw", call);
    const auto found = calls_.find(call);
    if (found != calls_.end() && !found->second.ended && parts_.completions.complete({call}, plugin_error())) ++completed_;
  }
  forget_ended();
}

// One turn's work: what was asked from outside, then attempts, so many that sockets do not wait for long.
void PluginSender::work() {
  const bool closing = take_commands();
  for (int i = 0; i < kAttemptsPerTurn; ++i) {
    if (parts_.type.blocking && !calls_.empty()) break;  // end_turn() schedules the next
    auto queued = queue_.pop();
    if (!queued) break;
    if (is_too_late(*queued) || (remote_ && remote_->is_lost())) {
      parts_.completions.not_begun(queued->attempt.call);
      ++completed_;
    } else {
      begin(std::move(*queued));
    }
    if (completed_ >= kFlushAt) {
      completed_ = 0;
      parts_.completions.flush();
    }
  }
  if (closing)
    for (const auto& [id, call] : calls_) ended_.push_back(id);
  if (!parts_.type.blocking) queue_.wake_if_any();
}

bool PluginSender::take_commands() {
  const auto told = queue_.take();
  for (const auto call : told.ended) ended_.push_back(call.value);
  for (const auto call : ended_)
    if (const auto found = calls_.find(call); found != calls_.end()) found->second.ended = true;
  forget_ended();
  for (const auto call : told.to_cancel) {
    const auto found = calls_.find(call.value);
    if (found == calls_.end() || found->second.ended || (remote_ && !may_cancel(call.value))) continue;
    enter(call.value, found->second.job.get(), [&] { vt_->cancel(self_, wb_call{call.value}); });
  }
  return told.closing;
}

// This process, or its machine, may have been stopped since the attempt was queued.
bool PluginSender::is_too_late(const QueuedAttempt& queued) const {
  if (queued.asked != CallKind::send) return false;
  const auto now = parts_.clock.now();
  return now >= queued.deadline || now >= queued.attempt.job->begin_before;
}

void PluginSender::begin(QueuedAttempt queued) {
  const auto id = queued.attempt.call.value;
  auto& call = calls_[id];
  call.job = std::move(queued.attempt.job);
  call.deadline = queued.deadline;
  call.page = std::move(queued.page);
  call.action_id = std::to_string(call.job->delivery.value);
  if (remote_) share_job(id, call.job);
  const auto& job = *call.job;
  if (auto refused = channel_refusal(job)) {
    parts_.completions.complete({id}, std::move(*refused));
    ++completed_;
    call.ended = true;
    ended_.push_back(id);
    return;
  }
  const auto left = std::chrono::duration_cast<Millis>(call.deadline - parts_.clock.now());
  call.view = {.size = sizeof(wb_job),
               .attempt = job.attempt(),
               .maybe_sent_before = job.history.maybe_sent ? 1u : 0u,
               .deadline_ms = std::max<std::int64_t>(1, left.count()),
               .action_id = borrow(call.action_id),
               .target = borrow(job.contract->target),
               .idempotency_key = borrow(job.idempotency_key),
               .destination = borrow(job.channel ? job.channel->destination : job.contract->destination),
               .payload = borrow(job.payload),
               .context = borrow(job.context.empty() ? std::string_view("{}") : std::string_view(job.context)),
               .artifact_type = borrow(job.artifact ? std::string_view(job.artifact->type) : std::string_view{}),
               .artifact = borrow(job.artifact ? std::string_view(job.artifact->bytes) : std::string_view{}),
               .provider_ref = borrow(job.provider_ref),
               .progress = borrow(job.progress)};
  const bool composes = queued.asked == CallKind::send && compose_ != nullptr && !job.artifact;
  if (composes || queued.asked != CallKind::send) return begin_query(id, composes ? CallKind::compose : queued.asked, call);
  enter(id, call.job.get(), [&] { vt_->send(self_, wb_call{id}, &call.view); });
}

// Calls that have ended, now that the strand is outside the plugin: their fetches and mail are cancelled (the plugin is still
// told), their timers vanish, their job goes.
void PluginSender::forget_ended() {
  while (!ended_.empty()) {
    const auto id = ended_.back();
    ended_.pop_back();
    auto node = calls_.extract(id);
    if (!node) continue;
    static_cast<void>(keys_used_.take(node.mapped().job.get()));
    for (const auto fetch : node.mapped().fetches) authorized_http_.cancel(fetch);
    for (const auto submission : node.mapped().submissions) mail_.cancel(submission);
    for (const auto timer : node.mapped().timers) cancel_timer(timer);
    questions_.end(id);
    if (remote_) {
      share_job(id, nullptr);
      remote_->end(id);
    }
  }
}

void PluginSender::end_turn() {
  forget_ended();
  if (std::exchange(completed_, 0) != 0) parts_.completions.flush();
  if (remote_) remote_->flush();
  if (!calls_.empty()) return;
  if (parts_.type.blocking) queue_.wake_if_any();
  if (destroyed_ || http_.open() != 0 || !authorized_http_.is_idle() || mail_.open() != 0 || !queue_.is_over()) return;
  destroyed_ = true;
  loop_.post([this] {
    enter(0, nullptr, [&] { vt_->destroy(self_); });
    loop_.stop();
  });
}

std::int32_t PluginSender::complete(wb_call call, const wb_outcome* said) {
  auto checked = check_outcome(said, parts_.type, questions_.kind_of(call.id));
  const auto detail = checked.fault == "undeclared_reason" ? checked.outcome.detail : std::string();
  // The C++ layer of a plugin catches what its code throws, and says so by this reason.
  const bool threw = checked.outcome.verdict == Verdict::transient && checked.outcome.reason == kPluginError;
  const auto what = threw ? checked.outcome.detail : std::string();
  if (on_strand()) add_what_was_seen(call, checked.outcome);
  const bool known = parts_.completions.complete({call.id}, std::move(checked.outcome));
  if (known && !checked.fault.empty()) record_violation(checked.fault, call.id, detail);
  if (known && threw) record_violation("threw", call.id, what);
  if (on_strand())
    ++completed_;
  else
    parts_.completions.flush();
  return known ? 0 : 1;
}

// What the host saw of the attempt itself.
void PluginSender::add_what_was_seen(wb_call call, Outcome& outcome) {
  const auto found = calls_.find(call.id);
  if (found == calls_.end()) return;
  auto keys = keys_used_.take(found->second.job.get());
  if (outcome.reach != Reach::not_sent) {
    outcome.sent_hash = std::move(found->second.sent_hash);
    outcome.signed_with = std::move(keys);
  }
  if (found->second.address_refused) describe_refusal(outcome, trust_of(*found->second.job));
  // A channel that does not answer in time would hold its organisation's places again and again.
  if (found->second.timed_out && outcome.verdict == Verdict::transient) outcome.scope = Scope::whole_target;
  if (!found->second.answer.empty()) outcome.answer = std::make_shared<const std::string>(std::move(found->second.answer));
}

void PluginSender::record_violation(std::string_view how, std::uint64_t call, std::string_view detail) {
  parts_.violations->record(parts_.type.name, how, call, detail);
}

}  // namespace waybill
