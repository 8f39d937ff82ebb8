// The clock of a host: it tells the time of its database, whatever the machine's own clock shows.
#pragma once

#include <atomic>
#include <limits>

#include "base/clock.h"
#include "base/time.h"

namespace waybill {

// Clocks that differ by more than this are wrong.
inline constexpr std::chrono::seconds kMaxSkew{5};
inline bool is_too_far(std::chrono::seconds skew) { return skew > kMaxSkew || skew < -kMaxSkew; }

// Counts from what the database said last by the monotonic clock. Until it has said something, the machine's clock is as good as
// any. Safe from any thread.
class DatabaseClock final : public Clock {
 public:
  Monotonic now() const override { return machine_.now(); }
  std::int64_t unix_seconds() const override {
    const auto offset = offset_.load();
    return offset == kUnknown ? machine_.unix_seconds() : floor_seconds(ticks(now()) + offset);
  }
  // The database's time at that moment.
  Timestamp time_at(Monotonic at) const {
    const auto offset = offset_.load();
    if (offset != kUnknown) return Timestamp{ticks(at) + offset};
    const auto machine = std::chrono::duration_cast<Micros>(std::chrono::system_clock::now().time_since_epoch());
    return Timestamp{machine.count() - (ticks(now()) - ticks(at))};
  }
  // `database` was its time at the moment `at`, or a moment before.
  void follow(Timestamp database, Monotonic at) { offset_ = database.micros - ticks(at); }
  // How far the machine's clock is ahead of the database's; negative: behind it.
  std::chrono::seconds skew() const { return std::chrono::seconds(machine_.unix_seconds() - unix_seconds()); }

 private:
  static constexpr auto kUnknown = std::numeric_limits<std::int64_t>::min();
  static std::int64_t ticks(Monotonic at) { return std::chrono::duration_cast<Micros>(at.time_since_epoch()).count(); }
  static std::int64_t floor_seconds(std::int64_t micros) {
    return std::chrono::floor<std::chrono::seconds>(Micros(micros)).count();
  }

  const SystemClock machine_{};
  std::atomic<std::int64_t> offset_{kUnknown};  // of the database's time from the monotonic one, in microseconds
};

}  // namespace waybill
