// What claiming asks of the database. An object holds a session of its own: one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "domain/contract.h"
#include "domain/outcome.h"
#include "store/cooldown.h"

namespace waybill {

struct DueRoute {
  RouteId route;
  OrgId org;
  Timestamp first_due;
};
struct DueRoutes {
  Timestamp now;
  std::vector<DueRoute> routes;  // every route with an unclaimed delivery
};
struct Cooldowns {
  Timestamp now;
  std::vector<Cooldown> all;  // every target whose outage has not ended; one whose `until` is over is half-open
};

struct RouteShare {
  RouteId route;
  std::size_t count;  // take at most so many
  Timestamp after;    // take only what lies behind this place in the order of (due, delivery)
  DeliveryId after_id;
  OrgId org{};
  std::string cooldown_key;                 // nothing is taken during an outage of (org, cooldown_key); empty: whatever is down
  std::optional<Timestamp> outage_since{};  // of the outage that a probe is for
  bool probe = false;                       // it is the one that is let through, see begin_probes()
  std::string target = {};                  // of the contract
  std::optional<Rate> rate = {};            // its deliveries need permits, see take_permits()
  std::optional<Seconds> max_age;           // take only what came in so long ago, or longer
};

struct Permits {
  std::size_t granted = 0;
  Micros wait{};  // until the next one
};

// Claims whose deliveries are all settled.
using DoneClaims = std::vector<ClaimToken>;

struct ClaimedRow {
  DeliveryId delivery;
  SubmissionId submission;
  OrgId org;
  RouteId route;
  Timestamp due;
  std::uint32_t attempt_count;
  std::uint32_t lease_lost;
  std::uint32_t uncounted;
  bool maybe_sent;
  int action_order;
  Timestamp created;
  std::string kind;
  std::string client_ref;
  std::string payload;
  std::size_t body_bytes = 0;        // of the payload
  bool withheld = false;             // the payload was left out: it would have passed the claim's limit of bytes
  std::optional<Artifact> artifact;  // once its plugin has composed it
  std::string progress;              // JSON that an earlier attempt left, or empty
};
struct ClaimResult {
  Timestamp now;  // at the end of the claim: whatever it waited for is over
  std::vector<ClaimedRow> rows;
};

struct RouteContract {
  OrgId org;
  Contract contract;
};

class QueueStore {
 public:
  virtual ~QueueStore() = default;
  virtual Result<DueRoutes> due_routes(Shard shard) = 0;
  virtual Result<Cooldowns> cooldowns() = 0;
  // Committed when it returns. Rows that another host is about to take are passed over. Answers in the order of (due, delivery),
  // with payloads of `most_bytes` together, or one that is larger. What is known of the claims in `done` is forgotten.
  virtual Result<ClaimResult> claim(Shard shard, HostId host, ClaimToken token, Millis lease, std::span<const RouteShare> shares,
                                    const DoneClaims& done, std::size_t most_bytes) = 0;
  // Of these half-open targets, those whose probe is this host's for so long: one host at a time has it.
  virtual Result<std::vector<Cooldown>> begin_probes(std::span<const Cooldown> targets, HostId host, Millis length) = 0;
  // Permits to start deliveries of a target with a rate, counted for all hosts together.
  virtual Result<Permits> take_permits(OrgId org, const std::string& target, const Rate& rate, std::size_t wanted) = 0;
  virtual Result<void> forget(Shard shard, const DoneClaims& done) = 0;
  // Undoes a claim whose answer was lost: what it took, if it was carried out, is due again and nothing counts; if it was not, it
  // never will be, however long its statement goes on in the server.
  virtual Result<void> give_back(Shard shard, HostId host, ClaimToken token) = 0;
  virtual Result<RouteContract> contract(RouteId route) = 0;
  // Those that can be read.
  virtual Result<std::map<RouteId, RouteContract>> contracts(std::span<const RouteId> routes) = 0;
};

}  // namespace waybill
