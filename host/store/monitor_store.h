// The state of the queue by action type, in bounded time. Each object has its own session; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"
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

class MonitorStore {
 public:
  virtual ~MonitorStore() = default;
  virtual Result<TypeStates> types() = 0;
};

}  // namespace waybill
