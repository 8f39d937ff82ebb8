// The seam for time that passes in this process; tests turn it by hand.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace waybill {

class Clock {
 public:
  using Monotonic = std::chrono::steady_clock::time_point;

  virtual ~Clock() = default;
  virtual Monotonic now() const = 0;              // [any thread] for durations
  virtual std::int64_t unix_seconds() const = 0;  // [any thread] for timestamps in signatures, and for what is absurdly far ahead
};

class SystemClock final : public Clock {
 public:
  // CLOCK_BOOTTIME: it goes on while the machine sleeps, as leases and deadlines do. Never compare it with steady_clock's times.
  Monotonic now() const override {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return Monotonic(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
  std::int64_t unix_seconds() const override {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
};

}  // namespace waybill
