// A value that many threads read whole while one thread replaces it as a whole.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace waybill {

// Safe from any thread. Whoever holds what `current` returned keeps it alive.
template <class T>
class Live {
 public:
  explicit Live(T first) : current_(std::make_shared<const T>(std::move(first))) {}

  std::shared_ptr<const T> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  void swap_in(T next) {
    auto fresh = std::make_shared<const T>(std::move(next));
    const std::lock_guard lock(mutex_);
    current_.swap(fresh);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> current_;  // guarded by mutex_
};

}  // namespace waybill
