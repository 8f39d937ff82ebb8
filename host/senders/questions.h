// Which open calls of a sender ask for something other than to send.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "senders/outcome_check.h"

namespace waybill {

// Safe from any thread. Costs next to nothing while all calls are sends.
class Questions {
 public:
  void expect() { any_ = true; }  // before the first of them

  void begin(std::uint64_t call, CallKind asked) {
    const std::lock_guard lock(mutex_);
    open_.emplace(call, asked);
  }
  void end(std::uint64_t call) {
    if (!any_) return;
    const std::lock_guard lock(mutex_);
    open_.erase(call);
  }
  CallKind kind_of(std::uint64_t call) const {
    if (!any_) return CallKind::send;
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(call);
    return found == open_.end() ? CallKind::send : found->second;
  }

 private:
  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, CallKind> open_;  // guarded by mutex_
};

}  // namespace waybill
