// One task after the other, each when it is due.
#include "maintenance/task_runner.h"

#include <algorithm>

namespace waybill {
namespace {
constexpr int kShare = 50;  // a task that takes long is done less often: it may cost two parts in a hundred of the time
constexpr auto kAfterFailure = std::chrono::seconds(3);
}  // namespace

TaskRunner::TaskRunner(std::vector<PeriodicTask> tasks, const Clock& clock, Millis every, std::function<bool()> is_up, Log& log)
    : clock_(clock), every_(every), is_up_(std::move(is_up)), log_(log) {
  for (auto& task : tasks) tasks_.push_back({std::move(task)});
}

void TaskRunner::start() {
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

void TaskRunner::hurry(const std::string& name) {
  const std::lock_guard lock(mutex_);
  hurried_.insert(name);
  changed_.notify_all();
}

void TaskRunner::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void TaskRunner::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    if (is_up_()) run_due(stop);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, every_, [this] { return !hurried_.empty() && is_up_(); });
  }
}

void TaskRunner::run_due(std::stop_token stop) {
  std::set<std::string> hurried;
  {
    const std::lock_guard lock(mutex_);
    hurried.swap(hurried_);
  }
  for (auto& [task, due] : tasks_) {
    if (stop.stop_requested()) return;
    const auto begin = clock_.now();
    const bool is_wanted = task.is_wanted && task.is_wanted();
    if (begin < due && !is_wanted && !hurried.contains(task.name)) continue;
    const auto done = task.run();
    const auto end = clock_.now();
    if (done) {
      const auto pause = task.is_bounded ? Clock::Monotonic::duration{} : kShare * (end - begin);
      due = end + std::max<Clock::Monotonic::duration>(task.every, pause);
    } else {
      log_.warn("maintenance.failed", {{"task", task.name}, {"error", done.error().what}});
      due = end + std::min<Clock::Monotonic::duration>(task.every, kAfterFailure);
    }
  }
}

}  // namespace waybill
