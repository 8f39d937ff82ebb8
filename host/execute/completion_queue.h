// Where finished jobs leave the executor; counts those still in flight.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "domain/job.h"
#include "execute/plugin_violations.h"

namespace waybill {

// Safe from any thread. Open calls share ownership, because those of an abandoned sender may outlive the executor.
class CompletionQueue {
 public:
  CompletionQueue(const Clock& clock, Log& log, Metrics& metrics) : violations(log, metrics), clock_(clock) {}

  void connect(FinishedSink sink) { sink_ = std::move(sink); }  // once, before the first job

  void took(std::size_t count) { in_flight_ += count; }
  void hand_on(std::vector<Finished> batch) {
    const auto count = batch.size();
    sink_(std::move(batch));
    if ((in_flight_ -= count) != 0) return;
    const std::lock_guard lock(mutex_);
    empty_.notify_all();
  }
  std::size_t in_flight() const { return in_flight_; }
  bool wait_empty(Millis at_most) {
    std::unique_lock lock(mutex_);
    return empty_.wait_for(lock, at_most, [this] { return in_flight_ == 0; });
  }
  Clock::Monotonic now() const { return clock_.now(); }

  PluginViolations violations;

 private:
  const Clock& clock_;
  FinishedSink sink_;
  std::atomic<std::size_t> in_flight_{0};
  std::mutex mutex_;
  std::condition_variable empty_;
};

}  // namespace waybill
