// The process of its own that suspects are tried in, one at a time; and starting it from a host.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "app/child_process.h"
#include "app/installation.h"
#include "base/clock.h"
#include "maintenance/periodic_tasks.h"
#include "store/queue/suspect_store.h"

namespace waybill {

// `waybill quarantine`: tries all suspects that are there and ends; or at once, if another process does so already. It ends with
// the process that started it, too.
int quarantine(const GlobalOptions& options, pid_t parent);

// One thread at a time: the task runner's, through task(), and whoever destroys it then.
class QuarantineProcess {
 public:
  QuarantineProcess(std::filesystem::path config, Millis lease, SuspectStore& store, const Clock& clock, Log& log)
      : config_(std::move(config)),
        lease_(lease),
        store_(store),
        log_(log),
        process_({"quarantine.started", "quarantine.failed", "quarantine.died"}, clock, log) {}

  // Starts it whenever a suspect is due and nobody tries suspects. Who has tried none for a lease hangs, and tries them no
  // longer. While this host may not claim, one that runs finishes what it has, and none is started.
  PeriodicTask task(std::function<bool()> may_claim);
  // [any thread] Plugins have changed: a process that runs finishes what it has, and the next one has the new ones.
  void renew() { is_outdated_ = true; }

 private:
  const std::filesystem::path config_;
  const Millis lease_;
  SuspectStore& store_;
  Log& log_;
  std::atomic<bool> is_outdated_{false};
  ChildProcess process_;  // ended with this: what it holds is given back or finished
};

}  // namespace waybill
