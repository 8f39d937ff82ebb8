// Decides which hosts are dead and which claims are overdue; what becomes of their work is up to rescuer.h. Pure: times come from
// outside, by this process's monotonic clock.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "store/queue/rescue_store.h"

namespace waybill {

// A host is dead when it had no lock and an unchanged row at two looks `between` apart. A session that is lost and reopened
// within that time is no death.
class HostWatch {
 public:
  explicit HostWatch(Millis between) : between_(between) {}
  // `asked` and `answered`: the times before and after the look.
  std::vector<HostObservation> dead(Clock::Monotonic asked, Clock::Monotonic answered, const std::vector<HostObservation>& seen);
  void forget() { missing_.clear(); }  // start over with the next look

 private:
  struct MissingHost {
    std::int64_t version;
    Clock::Monotonic since;
  };
  const Millis between_;
  std::map<HostId, MissingHost> missing_;
};

// Measures how long each claim has stayed unchanged. A step of the database's clock has no effect; a renewed lease starts over.
class ClaimWatch {
 public:
  // `every`: the interval of looks. A longer gap between two looks does not count in full: this process or the database was
  // stopped, and the holders of the claims may have been stopped too.
  ClaimWatch(Micros lease, Micros every) : lease_(lease), every_(every) {}
  // Claims not renewed for a whole lease, and those without a host.
  std::vector<UnchangedClaim> overdue(Clock::Monotonic now, const std::vector<ClaimObservation>& seen);

 private:
  struct Same {
    Timestamp lease_until;
    Micros length;
  };
  const Micros lease_, every_;
  Clock::Monotonic last_{};
  std::map<std::pair<Shard, ClaimToken>, Same> same_;
};

}  // namespace waybill
