// Finds the plugin and the delivery that crashed a host, from the breadcrumbs of hosts that died on this machine.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "breadcrumbs/breadcrumb_folder.h"
#include "maintenance/periodic_tasks.h"
#include "settle/settlement.h"
#include "store/queue/suspect_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill {

// Safe from any thread. The number of the lost attempt ensures that a death is charged once, however often it is read.
class Crashes {
 public:
  Crashes(BreadcrumbFolder& folder, const Clock& clock, Log& log, Metrics& metrics);

  // Reads the deaths since the last call.
  void look();
  // Whether a death seen by look() happened inside this delivery.
  Blame blame(const OrphanedDelivery& lost);
  // The claim was taken back with this blame.
  void written(const OrphanedDelivery& lost, const std::string& target);

  // Calls look(), charges deliveries that a rescuer without access to the breadcrumbs took back, and raises alerts. Runs once
  // before a host's first claim, then as a periodic task.
  Result<void> report(SuspectStore& store);
  PeriodicTask task(SuspectStore& store);

 private:
  struct NamedDelivery {
    Death::Inside inside;
    Clock::Monotonic since;
  };
  struct Alert {
    OrgId org;
    std::string kind, about, words;
  };
  std::map<DeliveryId, NamedDelivery>::iterator find(const OrphanedDelivery& lost);  // with mutex_ held
  void read(const Death& death);
  void notify(const Death::Inside& inside, OrgId org, const std::string& of);
  Result<void> remind(SuspectStore& store);
  Result<void> raise(SuspectStore& store);
  Result<void> accuse(SuspectStore& store);

  BreadcrumbFolder& folder_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  mutable std::mutex mutex_;  // for all below
  std::map<DeliveryId, NamedDelivery> named_;
  std::vector<Alert> alerts_;
  Clock::Monotonic remind_at_{};
};

}  // namespace waybill
