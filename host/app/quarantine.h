// The process of its own that suspects are tried in, one at a time; and starting it from a host.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "app/child_process.h"
#include "app/installation.h"
#include "base/clock.h"
#include "maintenance/periodic_tasks.h"
#include "store/suspect_store.h"

namespace waybill {

// `waybill quarantine`: tries all suspects that are there and ends; or at once, if another process does so already. It ends with
// the process that started it, too.
int quarantine(const GlobalOptions& options, pid_t parent);

// One thread at a time: the task runner's, through task(), and whoever destroys it then.
class QuarantineProcess {
 public:
  QuarantineProcess(std::filesystem::path config, SuspectStore& store, const Clock& clock, Log& log)
      : config_(std::move(config)),
        store_(store),
        process_({"quarantine.started", "quarantine.failed", "quarantine.died"}, clock, log) {}

  // Starts it whenever a suspect is due and nobody tries suspects.
  PeriodicTask task();

 private:
  const std::filesystem::path config_;
  SuspectStore& store_;
  ChildProcess process_;  // ended with this: what it holds is given back or finished
};

}  // namespace waybill
