// What wakes the claimer: new work, or places that fell free.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stop_token>
#include <utility>

#include "base/clock.h"

namespace waybill {

// Safe from any thread.
class WorkSignal {
 public:
  // Something may be due, nobody knows what: the claimer walks over the queue.
  void walk() {
    const std::lock_guard lock(mutex_);
    woken_ = walk_ = true;
    changed_.notify_all();
  }
  // The planner knows of work that it did not know of.
  void wake() {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }
  void free(std::size_t places) {
    const std::lock_guard lock(mutex_);
    freed_ += places;
    changed_.notify_all();
  }

  // [claimer] True once after walk().
  bool take_walk() {
    const std::lock_guard lock(mutex_);
    return std::exchange(walk_, false);
  }
  // [claimer] Until somebody wakes it, or a quarter of a batch of places is free, or of what is in flight (`held`): so a claim is
  // worth its statement, and the others are still busy when it comes. Fewer places are enough after `gather`.
  void wait(std::stop_token stop, Clock::Monotonic::duration most, Clock::Monotonic::duration gather, std::size_t batch,
            std::size_t held) {
    std::unique_lock lock(mutex_);
    const std::size_t enough = std::max<std::size_t>(1, std::min(batch, held + freed_) / 4);
    if (!woken_ && freed_ == 0) changed_.wait_for(lock, stop, most, [&] { return woken_ || freed_ > 0; });
    if (!woken_ && freed_ > 0 && freed_ < enough)
      changed_.wait_for(lock, stop, gather, [&] { return woken_ || freed_ >= enough; });
    woken_ = false;
    freed_ = 0;
  }

 private:
  std::mutex mutex_;  // for all below
  std::condition_variable_any changed_;
  bool woken_ = false, walk_ = false;
  std::size_t freed_ = 0;
};

}  // namespace waybill
