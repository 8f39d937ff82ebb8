// What claiming asks of the database. An object holds a session of its own: one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/contract.h"
#include "core/error.h"
#include "core/id.h"
#include "core/outcome.h"
#include "core/time.h"
#include "store/rest.h"

namespace waybill {

struct DueRoute {
  RouteId route;
  Timestamp first_due;
};
struct DueRoutes {
  Timestamp now;
  std::vector<DueRoute> routes;  // every route with an unclaimed delivery
  std::vector<Rest> rests;       // every target that rests now
};

struct RouteShare {
  RouteId route;
  std::size_t count;  // take at most so many
  Timestamp after;    // take only what lies behind this place in the order of (due, delivery)
  DeliveryId after_id;
  OrgId org{};               // nothing is taken while this organisation's
  std::string unless_rests;  // target of this name rests; empty: whatever rests
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
  std::optional<Artifact> artifact;  // once its plugin has composed it
  std::string progress;              // JSON that an earlier attempt left, or empty
};
struct Claimed {
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
  // Committed when it returns. Rows that another host is about to take are passed over. Answers in the order of (due, delivery).
  // What is known of the claims in `done` is forgotten.
  virtual Result<Claimed> claim(Shard shard, HostId host, ClaimToken token, Millis lease, std::span<const RouteShare> shares,
                                const DoneClaims& done) = 0;
  virtual Result<void> forget(Shard shard, const DoneClaims& done) = 0;
  // Undoes a claim whose answer was lost: what it took, if it was carried out, is due again and nothing counts.
  virtual Result<void> give_back(Shard shard, HostId host, ClaimToken token) = 0;
  virtual Result<RouteContract> contract(RouteId route) = 0;
};

}  // namespace waybill
