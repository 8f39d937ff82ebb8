// One sender and the table of its open calls: each call leaves the table once, and with that its job comes back once. No thread
// of its own: the one that enters the plugin is in senders/plugin_sender.cpp.
#include "execute/open_calls.h"

#include <algorithm>

#include "domain/decide.h"

namespace waybill {
namespace {

constexpr Millis kWaitAfterWithdrawal{1000};
constexpr Millis kBeforeTheLeaseEnds{1000};  // time for the settlement of a hang

Outcome unknown_outcome(std::string_view reason, std::string detail) {
  return {.verdict = Verdict::transient, .reach = Reach::maybe_sent, .reason = std::string(reason), .detail = std::move(detail)};
}

}  // namespace

OpenCalls::OpenCalls(std::string action_type, CallLimits limits, std::shared_ptr<CompletionQueue> completions)
    : action_type_(std::move(action_type)),
      limits_(limits),
      completions_(std::move(completions)),
      longest_(limits.attempt_timeout) {}

void OpenCalls::attach(std::unique_ptr<Sender> sender, OnLost on_lost) {
  sender_ = std::move(sender);
  on_lost_ = std::move(on_lost);
}

void OpenCalls::start(std::vector<Start> batch) {
  const auto now = completions_->now();
  std::vector<Sender::Attempt> attempts;
  attempts.reserve(batch.size());
  {
    const std::lock_guard lock(mutex_);
    for (auto& start : batch) {
      open_.emplace(start.call.value, Open{start.job, now, now + start.deadline});
      longest_ = std::max(longest_, start.deadline);
      attempts.push_back({start.call, std::move(start.job), start.deadline});
    }
  }
  sender_->send(std::move(attempts));
  if (lost_) give_back_all();  // it went while they came
}

void OpenCalls::give_back_all() {
  for (const auto call : ids())
    if (sender_->withdraw(call)) give_back(call, std::nullopt);
  flush();
}

std::size_t OpenCalls::open() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

void OpenCalls::keep(const Open& open, Outcome outcome) {
  finished_.push_back({.job = *open.job,
                       .how = outcome.artifact ? Finished::How::composed : Finished::How::attempted,
                       .by_kept_connection = open.job->reached == Reached::network,
                       .outcome = std::move(outcome),
                       .started_at = database_now(*open.job, open.started),
                       .finished_at = database_now(*open.job, completions_->now()),
                       .not_before = {}});
}

bool OpenCalls::end(CallId call, Outcome outcome) {
  {
    const std::lock_guard lock(mutex_);
    const auto node = open_.extract(call.value);
    if (!node) return false;
    keep(node.mapped(), std::move(outcome));
  }
  sender_->ended(call);
  return true;
}

bool OpenCalls::complete(CallId call, Outcome outcome) {
  if (end(call, std::move(outcome))) return true;
  const std::lock_guard lock(mutex_);
  if (!closed_) completions_->violations.record(action_type_, "completed_twice_or_late", call.value);
  return false;
}

bool OpenCalls::end_silent(CallId call) {
  auto outcome = unknown_outcome("plugin_silent", "the plugin did not complete the call before its deadline");
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(call.value);
    if (found != open_.end() && sender_->sends_through_host() && was_not_sent(*found->second.job))
      outcome.reach = Reach::not_sent;
  }
  return end(call, std::move(outcome));
}

void OpenCalls::not_begun(CallId call) { give_back(call, kWaitAfterWithdrawal); }

void OpenCalls::give_back(CallId call, std::optional<Millis> not_before) {
  const std::lock_guard lock(mutex_);
  const auto node = open_.extract(call.value);
  if (!node) return;
  const auto& open = node.mapped();
  const auto now = database_now(*open.job, completions_->now());
  const bool expired = is_over(*open.job, now);
  finished_.push_back({.job = *open.job,
                       .how = expired ? Finished::How::expired : Finished::How::unattempted,
                       .outcome = {},
                       .started_at = now,
                       .finished_at = now,
                       .not_before = not_before});
}

void OpenCalls::flush() {
  std::vector<Finished> batch;
  {
    const std::lock_guard lock(mutex_);
    if (finished_.empty()) return;
    batch.swap(finished_);
    finished_.reserve(std::min<std::size_t>(batch.size(), 256));
  }
  completions_->hand_on(std::move(batch));
}

OpenCalls::Look OpenCalls::look() {
  const auto now = completions_->now();
  const auto inside = sender_->inside_plugin();
  Look look;
  std::vector<CallId> late;
  std::vector<CallId> silent;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, open] : open_) {
      if (!open.decide_at && now >= open.deadline) {
        late.push_back({id});
        open.decide_at = now + limits_.grace;  // counted from here, so that a late look does not eat the grace
      } else if (open.decide_at && now >= *open.decide_at) {
        if (!is_kept_waiting(open, inside, now)) {
          silent.push_back({id});
          continue;
        }
        open.decide_at = now + limits_.grace;
      }
      look.next = std::min(look.next, open.decide_at.value_or(open.deadline));
    }
    if (open_.empty()) longest_ = limits_.attempt_timeout;
    if (!open_.empty()) look.next = std::min(look.next, now + limits_.stuck_after);
  }
  for (const auto call : late) {
    if (sender_->withdraw(call))
      give_back(call, kWaitAfterWithdrawal);  // the strand was busy for all of its time
    else
      sender_->cancel(call);
  }
  if (hangs(inside, look)) {
    look.hangs_in = inside->call;
  } else {
    for (const auto call : silent) {
      if (end_silent(call)) completions_->violations.record(action_type_, "silent", call.value);
    }
  }
  flush();
  return look;
}

// It was cancelled, but the strand has been inside the plugin ever since and could not tell it. No call waits for longer than two
// of the longest stays.
bool OpenCalls::is_kept_waiting(const Open& open, const Inside& inside, Clock::Monotonic now) const {
  return inside && inside->since <= *open.decide_at && now < open.deadline + 2 * (longest_ + limits_.grace);
}

// The call that the strand is in is over, and so is its patience. Found twice, some time apart: this process, or its machine, may
// have been stopped meanwhile.
bool OpenCalls::hangs(const Inside& inside, Look& look) {
  if (!inside) return false;
  const auto now = completions_->now();
  auto limit = inside->since + limits_.stuck_after;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = open_.find(inside->call.value); found != open_.end()) {
      // A hang that is found after its claim's lease is blamed on nobody, and the delivery hangs again and again.
      limit = std::min(limit, found->second.job->begin_before - kBeforeTheLeaseEnds - limits_.grace);
      limit = std::max(limit, std::min(inside->since + longest_, found->second.deadline) + limits_.grace);
    }
  }
  if (now < limit) {
    look.next = std::min(look.next, limit);
    return false;
  }
  if (long_stay_ != inside->since) {
    long_stay_ = inside->since;
    long_stay_seen_ = now;
  }
  if (now - long_stay_seen_ >= limits_.grace) return true;
  look.next = std::min(look.next, long_stay_seen_ + limits_.grace);
  return false;
}

std::shared_ptr<const OpenJob> OpenCalls::give_up(CallId hangs_in) {
  sender_->give_up();
  return end_without(hangs_in, {});
}

void OpenCalls::died(CallId inside, std::string_view words) {
  std::shared_ptr<const OpenJob> culprit;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;  // it ends in order
    if (const auto found = open_.find(inside.value); found != open_.end()) culprit = found->second.job;
  }
  leave(inside, Finished::How::hung, words);
  flush();
  if (on_lost_) on_lost_(culprit, words);
}

void OpenCalls::interrupted(CallId call, std::string_view words) {
  leave(call, Finished::How::interrupted, words);
  flush();
}

void OpenCalls::lost(std::string_view words) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    lost_ = true;
  }
  end_without({}, words);
}

// Its sender sends nothing any more. What never reached the network goes back: also the culprit, if all that the plugin sends
// goes through the host. Returns the job of the culprit, null if it is not open. `died`: how its process did; "": it hangs.
std::shared_ptr<const OpenJob> OpenCalls::end_without(CallId culprit_call, std::string_view died) {
  std::shared_ptr<const OpenJob> culprit;
  for (const auto call : ids()) {
    if (sender_->withdraw(call)) {
      give_back(call, std::nullopt);
      continue;
    }
    std::shared_ptr<const OpenJob> job;
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = open_.find(call.value); found != open_.end()) job = found->second.job;
    }
    if (!job) continue;
    if (call == culprit_call) culprit = job;
    if (call != culprit_call && was_not_sent(*job)) {
      give_back(call, std::nullopt);
      sender_->ended(call);
    } else {
      leave(call, call == culprit_call ? Finished::How::hung : Finished::How::interrupted, died);
    }
  }
  flush();
  close();
  return culprit;
}

bool OpenCalls::was_not_sent(const OpenJob& job) const {
  return job.reached == Reached::host || (job.reached == Reached::plugin && sender_->sends_through_host());
}

void OpenCalls::leave(CallId call, Finished::How how, std::string_view died) {
  {
    const std::lock_guard lock(mutex_);
    const auto node = open_.extract(call.value);
    if (!node) return;
    const auto& open = node.mapped();
    std::optional<Outcome> outcome;
    if (sender_->sends_through_host() || !died.empty())
      outcome = Outcome{.verdict = Verdict::transient,
                        .reach = was_not_sent(*open.job) && sender_->sends_through_host() ? Reach::not_sent : Reach::maybe_sent,
                        .reason = died.empty() ? "plugin_hung" : "plugin_crash",
                        .detail = std::string(died)};
    finished_.push_back({.job = *open.job,
                         .how = how,
                         .outcome = std::move(outcome),
                         .started_at = database_now(*open.job, open.started),
                         .finished_at = database_now(*open.job, completions_->now()),
                         .not_before = {}});
  }
  sender_->ended(call);
}

std::vector<CallId> OpenCalls::ids() const {
  std::vector<CallId> calls;
  const std::lock_guard lock(mutex_);
  calls.reserve(open_.size());
  for (const auto& [id, open] : open_) calls.push_back({id});
  std::sort(calls.begin(), calls.end());
  return calls;
}

void OpenCalls::decide_all(std::string_view reason) {
  for (const auto call : ids()) {
    if (sender_->withdraw(call))
      give_back(call, std::nullopt);
    else
      end(call, unknown_outcome(reason, "the host ended the call"));
  }
  flush();
}

void OpenCalls::cancel_all() {
  for (const auto call : ids()) {
    if (sender_->withdraw(call))
      give_back(call, std::nullopt);
    else
      sender_->cancel(call);
  }
  flush();
}

void OpenCalls::withdraw_all() { give_back_all(); }

void OpenCalls::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

}  // namespace waybill
