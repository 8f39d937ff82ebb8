// Operators' words on targets: sending to one is stopped and begun again; which ones are stopped, and what waits for them. Each
// call has a session of its own for its time: operators ask rarely. Safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "domain/contract.h"
#include "store/operations/operator_word.h"
#include "store/pg/pg.h"

namespace waybill {

// Until somebody resumes it, no host claims anything of the target. It is no outage: there are no probes, and it has no end of
// its own. Deadlines run on.
struct TargetPause {
  Timestamp since;
  std::string reason, actor;
};
struct TargetOutage {
  Timestamp since;
  std::string reason;
  std::optional<Timestamp> cooldown_until;  // where it still lasts
};

// One of an organisation: a target's name, "sender:<action type>" for the sender of forms, or "channel:<id>".
struct TargetName {
  std::string org, target;
};
struct ResumedTarget {
  std::optional<TargetPause> pause;  // that has ended
  std::optional<TargetOutage> outage;
  std::int64_t findings = 0;  // of single hosts, which found it unreachable
  std::int64_t made_due = 0;  // deliveries that waited for the end of the outage
};

struct StoppedTarget {
  TargetName name;
  std::optional<TargetPause> pause;
  std::optional<TargetOutage> outage;
  std::int64_t waiting = 0;  // deliveries, up to kMaxWaitingCounted
};
struct StoppedTargets {
  std::vector<StoppedTarget> items;
  std::string next;  // the cursor of the next page; "": there is none
};
inline constexpr std::size_t kMaxStoppedListed = 500;

// An operator's own rate of a target, in place of that of the registry or of the channel, for all hosts together.
struct RateOrder {
  Rate rate;
  Timestamp since;
  std::optional<Timestamp> until;  // none: until it is cleared
  std::string actor;
};
struct TargetRate {
  TargetName name;
  RateOrder order;
};
inline constexpr Seconds kLongestRate = std::chrono::hours(24 * 365);

class TargetStore {
 public:
  virtual ~TargetStore() = default;
  // Error::not_found: there is no such organisation, or neither the registry (`is_in_registry`) nor any submission so far has
  // such a target. Error::conflict: it is paused already. Error::invalid: no reason, or one that is too long.
  virtual Result<TargetPause> pause(const TargetName& name, const std::string& reason, bool is_in_registry,
                                    const Operator& by) = 0;
  // Error::not_found: there is no such organisation, or the target is neither paused nor in an outage.
  virtual Result<ResumedTarget> resume(const TargetName& name, const Operator& by) = 0;
  // By organisation and name, behind a cursor ("" for the beginning). Error::invalid: it is none.
  // In place of an earlier order. `lasts`: none: until it is cleared. Error::not_found: as pause().
  virtual Result<RateOrder> order_rate(const TargetName& name, const Rate& rate, std::optional<Seconds> lasts,
                                       bool is_in_registry, const Operator& by) = 0;
  // Returns the order that has ended. Error::not_found: there is no such organisation, or no order in force.
  virtual Result<RateOrder> clear_rate(const TargetName& name, const Operator& by) = 0;
  // Those in force, by organisation and name, up to kMaxStoppedListed.
  virtual Result<std::vector<TargetRate>> rates() = 0;
  virtual Result<StoppedTargets> stopped(const std::string& after, std::size_t most) = 0;
};

Result<std::vector<TargetRate>> rates_in_force(Connection& connection);  // as TargetStore::rates

std::unique_ptr<TargetStore> make_target_store(const DatabaseAddress& address);

}  // namespace waybill
