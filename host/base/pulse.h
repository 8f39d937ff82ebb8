// A thread's sign of life: when its present turn of work began.
#pragma once

#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace waybill {

// beat() and rest() belong to one thread; all else is safe from any.
class Pulse {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  explicit Pulse(std::string name) : name_(std::move(name)) {}
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  void beat() noexcept {  // a turn begins, or goes on well
    if (thread_.load(std::memory_order_relaxed) == 0) {
      prctl(PR_SET_NAME, name_.c_str());  // as `top -H` and a debugger show it
      thread_ = gettid();
    }
    began_.store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  }
  void rest() noexcept { began_.store(0, std::memory_order_relaxed); }  // nothing is to be done

  const std::string& name() const { return name_; }
  pid_t thread() const { return thread_; }  // 0: it has not begun
  // How long the turn has taken so far, counted from `since` if it began before; none while the thread rests.
  std::optional<Duration> turn_time(Time now, Time since = {}) const {
    const auto began = began_.load(std::memory_order_relaxed);
    if (began == 0) return std::nullopt;
    return now - std::max(Time(Duration(began)), since);
  }

 private:
  const std::string name_;
  std::atomic<pid_t> thread_{0};
  std::atomic<Duration::rep> began_{0};  // 0: rests
};

}  // namespace waybill
