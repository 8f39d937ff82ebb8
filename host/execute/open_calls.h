// One sender and the table of its open calls. Each call leaves the table once, so each job comes back once. The thread that
// enters the plugin is the sender's own: its strand, see senders/plugin_sender.h.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "execute/completion_queue.h"
#include "execute/sender.h"

namespace waybill {

struct CallLimits {
  Millis attempt_timeout;
  Millis grace;
  Millis stuck_after;
};

// Safe from any thread.
class OpenCalls final : public Completions {
 public:
  OpenCalls(std::string action_type, CallLimits limits, std::shared_ptr<CompletionQueue> completions);

  // Call once, first. `on_lost`: the plugin's process died inside a call with this job (null: inside none that was open); `words`
  // say how. From the strand.
  using OnLost = std::function<void(const std::shared_ptr<const OpenJob>& job, std::string_view words)>;
  void attach(std::unique_ptr<Sender> sender, OnLost on_lost = nullptr);

  // `deadline`: the attempt's timeout, or what the job's contract leaves, if less.
  struct Start {
    CallId call;
    std::shared_ptr<const OpenJob> job;
    Millis deadline;
  };
  void start(std::vector<Start> batch);
  std::size_t open() const;

  bool complete(CallId call, Outcome outcome) override;
  void not_begun(CallId call) override;
  void flush() override;
  void died(CallId inside, std::string_view words) override;
  void interrupted(CallId call, std::string_view words) override;
  void lost(std::string_view words) override;
  bool is_lost() const { return lost_; }  // its sender is gone

  struct Look {
    std::optional<CallId> hangs_in;                   // the strand does not come back from the plugin; 0: it is for no call
    Clock::Monotonic next = Clock::Monotonic::max();  // when to look again
  };
  // Cancels calls at their deadline; decides those still silent after the grace. While the strand is inside one call no other
  // can be told: they wait until it comes back, or is known to hang.
  Look look();
  bool runs_apart() const { return sender_->runs_apart(); }
  void kill_process() { sender_->give_up(); }  // of a sender that runs apart
  // The strand hangs in this call, which comes back as hung. Of the others, those that never reached the network come back
  // unattempted, the rest as interrupted. Reports nothing afterwards. Returns the job of the call, null if it is no longer open.
  std::shared_ptr<const OpenJob> give_up(CallId hangs_in);
  // Ends all open calls: those not begun come back unattempted, the others as transient, maybe sent, with this reason.
  void decide_all(std::string_view reason);
  void cancel_all();
  void withdraw_all();  // calls not begun come back unattempted; the others go on
  // After this it reports nothing.
  void close();
  bool join(Millis within) { return sender_->join(within); }

 private:
  struct Open {
    std::shared_ptr<const OpenJob> job;
    Clock::Monotonic started;
    Clock::Monotonic deadline;
    std::optional<Clock::Monotonic> decide_at;  // set when the call is cancelled at its deadline
  };
  using Table = std::unordered_map<std::uint64_t, Open>;
  using Inside = std::optional<Sender::Inside>;
  bool is_kept_waiting(const Open& open, const Inside& inside, Clock::Monotonic now) const;
  bool hangs(const Inside& inside, Look& look);
  bool end(CallId call, Outcome outcome);
  bool end_silent(CallId call);
  std::shared_ptr<const OpenJob> end_without(CallId culprit, std::string_view died);
  void leave(CallId call, Finished::How how, std::string_view died);
  void keep(const Open& open, Outcome outcome);
  void give_back(CallId call, std::optional<Millis> not_before);
  void give_back_all();
  bool was_not_sent(const OpenJob& job) const;
  std::vector<CallId> ids() const;

  const std::string action_type_;
  const CallLimits limits_;
  const std::shared_ptr<CompletionQueue> completions_;
  std::unique_ptr<Sender> sender_;
  OnLost on_lost_;
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;
  Table open_;                      // guarded by mutex_
  Millis longest_;                  // guarded by mutex_: that an open call may take
  std::vector<Finished> finished_;  // guarded by mutex_
  bool closed_ = false;             // guarded by mutex_
  // Used by the watching thread: the stay inside the plugin that is too long, and when it was first found so.
  Clock::Monotonic long_stay_{}, long_stay_seen_{};
};

}  // namespace waybill
