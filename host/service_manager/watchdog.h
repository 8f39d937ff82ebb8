// Watches the threads that nothing works without, and tells the service manager that all of them live.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/pulse.h"
#include "service_manager/service_manager.h"

namespace waybill {

// A thread whose turn takes too long.
struct StuckThread {
  std::string name;
  std::chrono::seconds turn_time;
  std::string stack;  // a frame a line, or why there is none
};
// The one that has been at it for the longest, if that is more than `limit`. Turns count from `since` at the earliest.
std::optional<StuckThread> find_stuck(const std::vector<const Pulse*>& pulses, std::chrono::milliseconds limit,
                                      Pulse::Time since = {});

// While all is well the manager hears so, several times in its period. Once a thread is stuck it hears the opposite, and nothing
// more.
class Watchdog {
 public:
  struct Terms {
    std::chrono::milliseconds limit;               // of one turn
    std::function<std::string()> status;           // for `systemctl status`
    std::function<void(const StuckThread&)> tell;  // before the manager is told
  };
  // The pulses and the manager must outlive it. Its thread begins at once.
  Watchdog(const ServiceManager& manager, std::vector<const Pulse*> pulses, Terms terms);

 private:
  void watch(std::stop_token stop);

  const ServiceManager& manager_;
  const std::vector<const Pulse*> pulses_;
  const Terms terms_;
  std::jthread thread_;  // last: it uses all above
};

}  // namespace waybill
