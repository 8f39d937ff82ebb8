// The largest count of late: within the present span of ten seconds and the one before it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "base/clock.h"

namespace waybill {

class RecentMost {
 public:
  static constexpr std::chrono::seconds kSpan{10};

  void see(std::size_t count, Clock::Monotonic now) {
    if (now - began_ >= kSpan) {
      before_ = now - began_ < 2 * kSpan ? most_ : 0;
      most_ = 0;
      began_ = now;
    }
    most_ = std::max(most_, count);
  }
  std::size_t most(Clock::Monotonic now) {
    see(0, now);
    return std::max(most_, before_);
  }

 private:
  Clock::Monotonic began_{};
  std::size_t most_ = 0, before_ = 0;
};

}  // namespace waybill
