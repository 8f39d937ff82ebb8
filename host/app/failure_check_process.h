// The process in which failures are checked: a plugin that crashes there takes no host with it.
#pragma once

#include <filesystem>

#include "app/child_process.h"
#include "config/config.h"
#include "maintenance/failure_schedule.h"
#include "maintenance/periodic_tasks.h"

namespace waybill {

// Starts `waybill failures check --due` when it is time. One thread at a time: the task runner's, and whoever destroys it then.
class FailureCheckProcess {
 public:
  FailureCheckProcess(const Config& config, FailureCheckStore& store, const Clock& clock, Log& log);
  PeriodicTask task();

 private:
  const std::filesystem::path config_;
  const FailureSchedule schedule_;
  FailureCheckStore& store_;
  ChildProcess process_;
};

}  // namespace waybill
