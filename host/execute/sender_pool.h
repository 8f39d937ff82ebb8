// The senders of one action type: created on demand, abandoned when they hang. After some of those the type pauses for a while.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "execute/hang.h"
#include "execute/open_calls.h"

namespace waybill {

// Safe from any thread; look(), cancel_all(), decide_all() and join() belong to one at a time.
class SenderPool {
 public:
  SenderPool(std::string action_type, SenderFactory& factory, CallLimits limits, HangLimits hang_limits,
             std::shared_ptr<CompletionQueue> completions, HangSink on_hang, Log& log);

  enum class State { ready, missing, stuck };  // stuck: it pauses
  State state();                               // creates missing senders
  std::string refusal() const;                 // why there is no sender; "" if none was refused
  Millis rest() const;                         // how long to leave jobs alone that it could not start
  std::size_t concurrency() const { return sender_count_ * calls_per_sender_; }
  // The factory makes other senders from now on: new work goes to such, and those that are at work finish what they have.
  void renew();
  bool wait_renewed(Millis at_most);  // until new work goes to the new kind
  std::size_t retiring() const;       // senders of before that still have open calls

  // Hands each job to the sender with the fewest open calls. False, without taking any, if the action type cannot run.
  bool start(std::vector<OpenCalls::Start>& batch);

  Clock::Monotonic look();
  void cancel_all();
  void withdraw_all();
  void decide_all(std::string_view reason);
  // Ends all senders and their open calls; true if no thread is left inside the plugin. Leaks senders that hang.
  bool join(Millis within);

 private:
  using Senders = std::vector<std::shared_ptr<OpenCalls>>;
  State fill();        // with mutex_ held
  void replace();      // with mutex_ held
  bool add_sender();   // with mutex_ held
  void forget_lost();  // with mutex_ held
  void note_lost(const std::shared_ptr<const OpenJob>& job, std::string_view words);
  void abandon(const std::shared_ptr<OpenCalls>& calls, CallId hangs_in);
  Millis note_hang();  // with mutex_ held
  void forget_returned();
  void forget_retired();
  Senders senders() const;  // that may have open calls

  const std::string action_type_;
  SenderFactory& factory_;
  const CallLimits limits_;
  const HangLimits hang_limits_;
  const std::shared_ptr<CompletionQueue> completions_;
  const HangSink on_hang_;
  Log& log_;
  std::atomic<std::size_t> sender_count_;
  std::atomic<std::size_t> calls_per_sender_;
  mutable std::mutex mutex_;
  Senders senders_;                      // guarded by mutex_
  Senders retiring_;                     // guarded by mutex_; finish what they have
  Senders abandoned_;                    // guarded by mutex_; hang inside the plugin
  std::size_t hangs_ = 0;                // guarded by mutex_; that are not forgotten
  Clock::Monotonic last_hang_{};         // guarded by mutex_
  Clock::Monotonic paused_until_{};      // guarded by mutex_
  bool closed_ = false;                  // guarded by mutex_
  std::size_t next_ = 0;                 // guarded by mutex_
  Clock::Monotonic not_again_before_{};  // guarded by mutex_; after a refused create
  std::string refusal_;                  // guarded by mutex_; of the last create
  std::condition_variable renewed_;
  bool is_to_renew_ = false;  // guarded by mutex_; its senders are of before a change
  bool is_starting_ = false;  // guarded by mutex_; the last create had to wait for a process
};

}  // namespace waybill
