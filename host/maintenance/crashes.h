// Which plugin and which delivery brought a host down, from the trails of hosts that died on this machine.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "breadcrumbs/breadcrumb_folder.h"
#include "maintenance/periodic_tasks.h"
#include "settle/settlement.h"
#include "store/suspects.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill {

// Safe from any thread. A death is counted once against a delivery, whoever reads of it and however often: the number of the lost
// attempt sees to that.
class Crashes {
 public:
  Crashes(BreadcrumbFolder& folder, const Clock& clock, Log& log, Metrics& metrics);

  // Reads of deaths since the last look.
  void look();
  // Whether a death that look() has seen is this claim's doing.
  Blame blame(const OrphanedClaim& lost);
  // The claim was taken back so.
  void written(const OrphanedClaim& lost, const std::string& target);

  // Looks, accuses deliveries whose claims were taken back by somebody who did not see the trail, and raises alerts. Once before
  // a host's first claim, then as a periodic task.
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
  std::map<DeliveryId, NamedDelivery>::iterator find(const OrphanedClaim& lost);  // with mutex_ held
  void read(const Death& death);
  void tell(const Death::Inside& inside, OrgId org, const std::string& of);
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
