// The process in which failures are checked: a plugin that crashes there takes no host with it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "app/child_process.h"
#include "config/config.h"
#include "maintenance/failure_schedule.h"
#include "maintenance/periodic_tasks.h"

namespace waybill {

// Starts `waybill failures check --due` when it is time. One thread at a time: the task runner's, and whoever destroys it then.
class FailureCheckProcess {
 public:
  // `host`: the id of this host, or none while it is not registered.
  FailureCheckProcess(const Config& config, FailureCheckStore& store, std::function<std::optional<HostId>()> host,
                      const Clock& clock, Log& log);
  PeriodicTask task();

 private:
  Result<void> compare();

  const std::filesystem::path config_;
  const FailureSchedule schedule_;
  FailureCheckStore& store_;
  const std::function<std::optional<HostId>()> host_;
  Log& log_;
  std::optional<HostId> told_;  // as whom this host has told its schedule
  std::string other_;           // the schedule that holds in place of it, as the log has it
  ChildProcess process_;
};

}  // namespace waybill
