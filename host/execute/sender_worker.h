// One sender and the table of its open calls. Each call leaves the table once, so each job comes back once. The thread that
// enters the plugin is the sender's own: its strand, see senders/plugin_sender.h.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "execute/completion_queue.h"
#include "execute/sender.h"

namespace waybill {

struct WorkerLimits {
  Millis attempt_timeout;
  Millis grace;
  Millis stuck_after;
};

// Safe from any thread.
class SenderWorker final : public Completions {
 public:
  SenderWorker(std::string action_type, WorkerLimits limits, std::shared_ptr<CompletionQueue> completions);

  // Call once, first.
  void attach(std::unique_ptr<Sender> sender);

  // `deadline`: the attempt's timeout, or what the job's contract leaves, if less.
  struct Start {
    CallId call;
    std::shared_ptr<const Job> job;
    Millis deadline;
  };
  void start(std::vector<Start> batch);
  std::size_t open() const;

  bool complete(CallId call, Outcome outcome) override;
  void not_begun(CallId call) override;
  void flush() override;

  struct Look {
    bool stuck = false;                               // the strand hangs inside the plugin
    Clock::Monotonic next = Clock::Monotonic::max();  // when to look again
  };
  // Cancels calls at their deadline; decides those still silent after the grace.
  Look look();
  // Ends all open calls: those not begun come back unattempted, the others as transient, maybe sent, with this reason.
  void decide_all(std::string_view reason);
  void cancel_all();
  void withdraw_all();  // calls not begun come back unattempted; the others go on
  // After this the worker reports nothing.
  void close();
  bool join(Millis within) { return sender_->join(within); }

 private:
  struct Open {
    std::shared_ptr<const Job> job;
    Clock::Monotonic started;
    Clock::Monotonic deadline;
    std::optional<Clock::Monotonic> decide_at;  // set when the call is cancelled at its deadline
  };
  using Table = std::unordered_map<std::uint64_t, Open>;
  bool end(CallId call, Outcome outcome);
  void keep(const Open& open, Outcome outcome);
  void give_back(CallId call, std::optional<Millis> not_before);
  std::vector<CallId> open_calls() const;

  const std::string action_type_;
  const WorkerLimits limits_;
  const std::shared_ptr<CompletionQueue> completions_;
  std::unique_ptr<Sender> sender_;
  mutable std::mutex mutex_;
  Table open_;                       // guarded by mutex_
  std::vector<Finished> finished_;   // guarded by mutex_
  bool closed_ = false;              // guarded by mutex_
  Clock::Monotonic last_silence_{};  // used by the watching thread: when it last decided a silent call
};

}  // namespace waybill
