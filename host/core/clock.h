// The seam for time that passes in this process; tests turn it by hand.
#pragma once

#include <chrono>
#include <cstdint>

namespace waybill {

class Clock {
 public:
  using Monotonic = std::chrono::steady_clock::time_point;

  virtual ~Clock() = default;
  virtual Monotonic now() const = 0;              // [any thread] for durations
  virtual std::int64_t unix_seconds() const = 0;  // [any thread] for timestamps in signatures, nothing else
};

class SystemClock final : public Clock {
 public:
  Monotonic now() const override { return std::chrono::steady_clock::now(); }
  std::int64_t unix_seconds() const override {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
};

}  // namespace waybill
