// Runs the periodic tasks on a thread of their own, so that rescue never waits for one.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "maintenance/periodic_tasks.h"
#include "telemetry/log.h"

namespace waybill {

// Has its own thread.
class TaskRunner {
 public:
  // Checks every `every` which tasks are due, while `is_up`.
  TaskRunner(std::vector<PeriodicTask> tasks, const Clock& clock, Millis every, std::function<bool()> is_up, Log& log);
  ~TaskRunner() { stop(); }

  void start();
  void hurry(const std::string& name);  // [any thread] makes the task of this name due now
  void stop();

 private:
  void run(std::stop_token stop);
  void run_due(std::stop_token stop);

  const Clock& clock_;
  const Millis every_;
  const std::function<bool()> is_up_;
  Log& log_;
  struct Due {
    PeriodicTask task;
    Clock::Monotonic at{};
  };
  std::vector<Due> tasks_;  // the thread's own

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::set<std::string> hurried_;  // guarded by mutex_
  std::jthread thread_;            // last: it uses all above
};

}  // namespace waybill
