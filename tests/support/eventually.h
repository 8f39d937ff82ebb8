// Waiting on a condition with a generous bound: the only way in which tests wait.
#pragma once

#include <chrono>
#include <thread>

namespace waybill::testing {

inline constexpr std::chrono::seconds kBound{150};  // generous: slow machines and sanitizers must never reach it

// Asks `predicate` again and again until it says true; false if it never did within `bound`.
template <class Predicate>
bool eventually(Predicate predicate, std::chrono::milliseconds bound = kBound) {
  const auto end = std::chrono::steady_clock::now() + bound;
  while (!predicate()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

// Does something at the end of its scope, however that is left.
template <class Action>
class AtEnd {
 public:
  explicit AtEnd(Action action) : action_(action) {}
  ~AtEnd() { action_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  Action action_;
};

}  // namespace waybill::testing
