// How work and hosts are: what `waybill doctor` asks of the schema. Each question is bounded, however long the queue is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "store/pg/pg.h"
#include "store/submissions/read_store.h"

namespace waybill {

struct RegisteredHost {
  LivingHost said;     // its name, and what it says of itself
  bool lives = false;  // it holds its lock
  int knows = 0;       // the newest schema that its program knows
  std::string digest;  // of its registry; "": it has said nothing yet
};
Result<std::vector<RegisteredHost>> registered_hosts(Connection& connection);

// A target that cools down.
struct CoolingTarget {
  std::string org, target, reason;
  Micros began_ago{0}, ends_in{0};
  std::int64_t waiting = 0;  // deliveries, up to kMaxWaitingCounted; of the longest outages
};
inline constexpr std::int64_t kMaxWaitingCounted = 1000;
// The longest outages first.
Result<std::vector<CoolingTarget>> cooling_targets(Connection& connection);

// What waits for a target, "sender:<action type>" or "channel:<id>": deliveries, up to kMaxWaitingCounted.
Result<std::int64_t> count_waiting(Connection& connection, const std::string& org, const std::string& target);

// A target to which an operator has stopped sending.
struct PausedTarget {
  std::string org, target, reason, actor;
  Micros began_ago{0};
  std::int64_t waiting = 0;  // as above; of the longest pauses
};
// The longest pauses first.
Result<std::vector<PausedTarget>> paused_targets(Connection& connection);

// What one host cannot reach, and nobody has confirmed.
struct LoneFinding {
  std::string host, target, reason;
  bool is_cut_off = false;  // it reaches nothing, while others do
  Micros began_ago{0};
};
Result<std::vector<LoneFinding>> lone_findings(Connection& connection);

struct WaitingWork {
  std::map<std::string, Micros> oldest_due;  // by action type: for how long the oldest due delivery has waited
  std::int64_t dead_letters = 0;             // that nobody has replayed, counted up to kMaxStandingCounted
  std::optional<Micros> oldest_dead_letter;
};
Result<WaitingWork> waiting_work(Connection& connection);

struct OpenIncidents {
  std::string kind;
  std::int64_t incidents = 0;
  std::string words;  // of the newest
  Micros last_ago{0};
};
Result<std::vector<OpenIncidents>> open_incidents(Connection& connection);

struct EndingToken {
  std::string org, name;
  Micros ends_in{0};
};
Result<std::vector<EndingToken>> ending_tokens(Connection& connection, Millis within);

}  // namespace waybill
