// What a rescuer remembers from one look to the next. Pure: times come from outside, and are this process's own.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "store/rescue_store.h"

namespace waybill {

// Which hosts stayed without their lock from one look to another, and so are dead. A session that is lost and opened again within
// that time is no death.
class HostWatch {
 public:
  explicit HostWatch(Millis between) : between_(between) {}
  // `asked` and `answered` are the times around the look.
  std::vector<HostObservation> dead(Clock::Monotonic asked, Clock::Monotonic answered, const std::vector<HostObservation>& seen);
  void forget() { gone_.clear(); }  // the next look is a first one

 private:
  struct DeadHost {
    std::int64_t version;
    Clock::Monotonic since;
  };
  const Millis between_;
  std::map<HostId, DeadHost> gone_;
};

// Which claims stayed as they are for how long. A step of the database's clock changes nothing here; a renewed lease begins anew.
class ClaimWatch {
 public:
  // `every`: how often it looks. A longer time between two looks does not count in full: then this process or the database stood
  // still, and those who hold the claims may have stood still with it.
  ClaimWatch(Micros lease, Micros every) : lease_(lease), every_(every) {}
  // Claims that nobody renewed for the whole lease, and those without a host.
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
