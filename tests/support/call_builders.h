// What stories about single stages of the pipeline need beside the fake store: a clock turned by hand and a log that is kept.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "telemetry/log.h"

namespace waybill::testing {

// Safe from any thread.
class ManualClock final : public Clock {
 public:
  Monotonic now() const override { return Monotonic(Monotonic::duration(ticks_.load())); }
  std::int64_t unix_seconds() const override {
    return std::chrono::duration_cast<std::chrono::seconds>(now().time_since_epoch()).count();
  }
  void pass(Monotonic::duration length) { ticks_ += length.count(); }

 private:
  std::atomic<Monotonic::rep> ticks_{Monotonic::duration(std::chrono::hours(1)).count()};
};

// Counts events by name. Safe from any thread.
class KeptLog final : public Log {
 public:
  void write(Level, std::string_view event, std::span<const Field>) override {
    const std::lock_guard lock(mutex_);
    ++events_[std::string(event)];
  }
  std::size_t count(const std::string& event) const {
    const std::lock_guard lock(mutex_);
    const auto at = events_.find(event);
    return at == events_.end() ? 0 : at->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::size_t> events_;
};

}  // namespace waybill::testing
