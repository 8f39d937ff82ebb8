// How long the queue is and how fast it moves, by target. Each call has a session of its own for its time, and looks at a bounded
// number of rows however long the queue is. Safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "domain/backlog.h"
#include "store/operations/target_store.h"
#include "store/pg/pg.h"

namespace waybill {

// An empty field matches all.
struct BacklogFilter {
  std::optional<OrgId> org;
  std::string target;  // a target, "sender:<action type>", or "channel:<id>"
  std::string action_type;
};

struct TargetBacklog {
  TargetName name;
  std::string action_type;
  Backlog backlog;
  std::string stop_reason;                  // of its pause or its outage
  std::optional<Timestamp> cooldown_until;  // of its outage
};
struct QueueStanding {
  Timestamp now;
  std::vector<TargetBacklog> targets;  // the longest first
  bool is_counted = true;              // all of it; else the numbers are lower bounds
  std::int64_t quarantined = 0;        // what may have killed its host, and is tried alone; of the organisation
  std::vector<std::pair<std::string, std::int64_t>> reasons;  // of retries, by a sample of those that are next
  std::int64_t retries_looked_at = 0;                         // that sample's size
};
inline constexpr std::int64_t kMaxQueueCounted = 1'000'000;  // deliveries
inline constexpr std::int64_t kMaxQueueRoutes = 10'000;
inline constexpr Millis kFlowWindow = std::chrono::minutes(5);

class BacklogStore {
 public:
  virtual ~BacklogStore() = default;
  // `most`: deliveries counted.
  virtual Result<QueueStanding> read(const BacklogFilter& filter, std::int64_t most = kMaxQueueCounted) = 0;
};

std::unique_ptr<BacklogStore> make_backlog_store(const DatabaseAddress& address, int shards);

}  // namespace waybill
