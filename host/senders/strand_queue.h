// What other threads have for a sender's strand: attempts that wait for it, and what it is told of calls that it has.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "execute/sender.h"
#include "senders/failure_page.h"
#include "senders/inbox.h"
#include "senders/outcome_check.h"

namespace waybill {

struct QueuedAttempt {
  Sender::Attempt attempt;
  Clock::Monotonic deadline;
  CallKind asked = CallKind::send;
  std::shared_ptr<FailurePage> page = nullptr;  // for failures
};

// Safe from any thread.
class StrandQueue {
 public:
  // `wake` has the strand call take() soon. It is called once for all that comes until then.
  explicit StrandQueue(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Calls `fill` with a function that pushes: QueuedAttempt, whether it goes before the backlog.
  template <class Fill>
  void push(Fill fill) {
    const std::lock_guard lock(mutex_);
    fill([this](QueuedAttempt queued, bool first) { inbox_.push(std::move(queued), first); });
    schedule();
  }
  // False: the strand has it already, or never had.
  bool withdraw(CallId call) {
    const std::lock_guard lock(mutex_);
    return remove(call);
  }
  void cancel(CallId call) { tell(to_cancel_, call); }
  void ended(CallId call) { tell(ended_, call); }
  void close() {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    schedule();
  }

  // ---- for the strand ----

  struct Told {
    std::vector<CallId> to_cancel, ended;  // none of the ended ones is in the queue any more
    bool closing = false;
  };
  Told take() {
    const std::lock_guard lock(mutex_);
    scheduled_ = false;
    for (const auto call : ended_) remove(call);
    return {std::exchange(to_cancel_, {}), std::exchange(ended_, {}), closing_};
  }
  std::optional<QueuedAttempt> pop() {
    const std::lock_guard lock(mutex_);
    if (inbox_.empty()) return std::nullopt;
    return inbox_.pop();
  }
  void wake_if_any() {
    const std::lock_guard lock(mutex_);
    if (!inbox_.empty()) schedule();
  }
  bool is_over() {  // closed and empty
    const std::lock_guard lock(mutex_);
    return closing_ && inbox_.empty();
  }

  // ---- its end ----

  void finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    finish_.notify_all();
  }
  bool wait_for_finish(Millis within) {
    std::unique_lock lock(mutex_);
    return finish_.wait_for(lock, within, [this] { return finished_; });
  }

 private:
  void tell(std::vector<CallId>& list, CallId call) {
    const std::lock_guard lock(mutex_);
    list.push_back(call);
    schedule();
  }
  bool remove(CallId call) {
    return inbox_.remove([&](const QueuedAttempt& queued) { return queued.attempt.call == call; });
  }
  void schedule() {
    if (!std::exchange(scheduled_, true)) wake_();
  }

  const std::function<void()> wake_;
  std::mutex mutex_;  // for all below
  Inbox<QueuedAttempt> inbox_;
  std::vector<CallId> to_cancel_, ended_;
  bool scheduled_ = false, closing_ = false, finished_ = false;
  std::condition_variable finish_;
};

}  // namespace waybill
