// The workers of one action type: created on demand, abandoned when they hang, switched off after too many of those.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "execute/sender_worker.h"

namespace waybill {

// Safe from any thread; look(), cancel_all(), decide_all() and join() belong to one at a time.
class SenderPool {
 public:
  SenderPool(std::string action_type, SenderFactory& factory, WorkerLimits limits, std::size_t max_abandoned,
             std::shared_ptr<CompletionQueue> completions, Log& log);

  enum class State { ready, missing, stuck };
  State state();  // creates missing workers
  std::size_t concurrency() const { return worker_count_ * calls_per_worker_; }

  // Hands each job to the worker with the fewest open calls. False, without taking any, if the action type cannot run.
  bool start(std::vector<SenderWorker::Start>& batch);

  Clock::Monotonic look();
  void cancel_all();
  void withdraw_all();
  void decide_all(std::string_view reason);
  // Ends all workers and their open calls; true if no thread is left inside the plugin. Leaks workers that hang.
  bool join(Millis within);

 private:
  using Workers = std::vector<std::shared_ptr<SenderWorker>>;
  State fill();  // with mutex_ held
  void abandon(const std::shared_ptr<SenderWorker>& worker);
  Workers workers() const;

  const std::string action_type_;
  SenderFactory& factory_;
  const WorkerLimits limits_;
  const std::size_t max_abandoned_;
  const std::shared_ptr<CompletionQueue> completions_;
  Log& log_;
  const std::size_t worker_count_;
  const std::size_t calls_per_worker_;
  mutable std::mutex mutex_;
  Workers workers_;                      // guarded by mutex_
  Workers abandoned_;                    // guarded by mutex_
  bool closed_ = false;                  // guarded by mutex_
  std::size_t next_ = 0;                 // guarded by mutex_
  Clock::Monotonic not_again_before_{};  // guarded by mutex_; after a refused create
};

}  // namespace waybill
