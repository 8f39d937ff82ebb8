// The state of the queue by action type, in bounded time. Each object has its own session; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"

namespace waybill {

struct TypeState {
  std::map<std::string, std::uint64_t> by_status;  // unfinished deliveries
  std::optional<Micros> oldest_due;                // age of the oldest delivery that is due
  std::uint64_t ended = 0, failed = 0;             // of the newest deliveries, those that ended within kEndsCounted

  std::uint64_t depth() const;
  double failure_rate() const { return ended == 0 ? 0 : static_cast<double>(failed) / static_cast<double>(ended); }
  bool operator==(const TypeState&) const = default;
};
inline constexpr Millis kEndsCounted = std::chrono::hours(1);
inline constexpr std::size_t kMaxEndsCounted = 10'000;  // of all shards together, at least a hundred of each

struct TypeStates {
  std::map<std::string, TypeState> by_type;
  bool estimated = false;  // the counts of the queue come from a sample, as MaintenanceStore::queue_state()
};

// What waits in the whole installation.
struct Standing {
  std::uint64_t dead_letters = 0;  // that nobody has replayed; counted up to kMaxStandingCounted
  std::uint64_t cooling_targets = 0;
  std::uint64_t paused_targets = 0;
  // Submissions that have not ended, by pipeline and state. Those of pipelines and processing forms are counted up to
  // kMaxStandingCounted; "intent" (with notifications) and forms that are "received" are estimates if the queue is long.
  std::map<std::pair<std::string, std::string>, std::uint64_t> unfinished;
};
inline constexpr std::uint64_t kMaxStandingCounted = 100'000;

// Deliveries of one target that are open for too long.
struct OverdueDeliveries {
  std::string organisation;
  std::string target;  // of a form: "form:" and its id
  std::uint64_t count = 0;
  bool operator==(const OverdueDeliveries&) const = default;
};

class MonitorStore {
 public:
  virtual ~MonitorStore() = default;
  virtual Result<TypeStates> types() = 0;
  virtual Result<Standing> standing() = 0;
  // Those whose submission is older than `age`, the longest lists first and `most` at most. Estimates, if the queue is long;
  // neither deliveries to channels nor those of pipelines.
  virtual Result<std::vector<OverdueDeliveries>> overdue(Millis age, std::size_t most) = 0;
  virtual Result<std::map<OrgId, std::string>> names_of(const std::vector<OrgId>& orgs) = 0;
};

}  // namespace waybill
