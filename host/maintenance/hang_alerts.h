// Alerts of plugins that hung, or whose process died: each is raised within about a second.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/time.h"
#include "domain/job.h"
#include "maintenance/periodic_tasks.h"
#include "store/queue/suspect_store.h"

namespace waybill {

// note() is safe from any thread, raise() is of one at a time.
class HangAlerts {
 public:
  explicit HangAlerts(std::string host) : host_(std::move(host)) {}

  // A sender did not come back from its plugin, or its process died (`died`: how). `job`: that it was inside of; null: none that
  // is open. `pause`: so long its action type is not run here. `plugin`: its name and version, for people.
  void note(const std::string& action_type, const std::string& plugin, const std::string& died, const Job* job, Millis pause);
  // What cannot be raised now is kept for the next call.
  Result<void> raise(SuspectStore& store);
  PeriodicTask task(SuspectStore& store);

 private:
  struct Alert {
    OrgId org;
    const char* kind;
    std::string about, words;
  };
  const std::string host_;
  std::mutex mutex_;
  std::vector<Alert> waiting_;  // guarded by mutex_; not more than kMaxWaiting
};

}  // namespace waybill
