// The claim statements. Each object has its own session; one thread at a time.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "domain/contract.h"
#include "domain/org_weights.h"
#include "store/queue/claim_result.h"
#include "store/queue/cooldown.h"

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
// A target that a host found unreachable, and no other host has confirmed that.
struct HostFinding {
  OrgId org;
  std::string target;
  Timestamp since;
  bool is_refuted = false;  // another host had an answer from it since
};
struct Cooldowns {
  Timestamp now;
  std::vector<Cooldown>
      all;  // every target that is in an outage for this host, half-open once `until` has passed, or paused, for good
  std::vector<HostFinding> own{};
  std::vector<HostFinding> of_others{};  // that are not refuted
};

struct RouteShare {
  RouteId route;
  std::size_t count;  // the most to take
  Timestamp after;    // take only rows after this place in the order of (due, delivery)
  DeliveryId after_id;
  OrgId org{};
  std::string cooldown_key;                 // skip the route while (org, cooldown_key) is in an outage; empty: ignore outages
  std::optional<Timestamp> outage_since{};  // the outage that a probe is for
  bool probe = false;                       // the one delivery that is let through, see begin_probes()
  std::string target = {};                  // the contract's
  std::string channel = {};                 // the contract's
  std::optional<Rate> rate = {};            // its deliveries need permits, see take_permits()
  std::optional<Seconds> min_age;           // take only submissions at least this old
};

// Operators' own rates, by cooldown key; they go before all others.
using OrderedRates = std::map<std::pair<OrgId, std::string>, Rate>;

struct ServedChannel {
  RouteId route;
  std::optional<Rate> rate;  // as its organisation has set it
};

struct Permits {
  std::size_t granted = 0;
  Micros wait{};  // until the next one
};

// Claims whose deliveries are all settled.
using DoneClaims = std::vector<ClaimToken>;

struct RouteContract {
  OrgId org;
  Contract contract;
};

class QueueStore {
 public:
  virtual ~QueueStore() = default;
  virtual Result<DueRoutes> due_routes(Shard shard) = 0;
  virtual Result<Cooldowns> cooldowns(HostId host) = 0;
  // This host had answers from these targets: other hosts' findings that they are unreachable concern those hosts alone.
  virtual Result<void> refute(std::span<const HostFinding> findings, HostId host) = 0;
  // Committed when it returns. Skips rows that another host is taking. Returns rows in the order of (due, delivery), with
  // payloads of up to `most_bytes` together, or one larger payload. Deletes the claims in `done`.
  virtual Result<ClaimResult> claim(Shard shard, HostId host, ClaimToken token, Millis lease, std::span<const RouteShare> shares,
                                    const DoneClaims& done, std::size_t most_bytes) = 0;
  // Reserves the probes of half-open targets for this host, for `length`. One registered host at a time has a target's probe, and
  // may ask for it again. What is this host's own finding it probes itself. Returns those it has. Waits for no locked row.
  virtual Result<std::vector<Cooldown>> begin_probes(std::span<const Cooldown> targets, HostId host, Millis length) = 0;
  virtual Result<void> release_probes(std::span<const Cooldown> targets, HostId host) = 0;  // nothing was sent
  virtual Result<OrgWeights> weights() = 0;
  virtual Result<OrderedRates> ordered_rates() = 0;  // in force now
  // Makes this host the one that sends to the channels of these organisations, where no living one does. Returns the channels
  // that it serves now; those of an organisation whose secrets it cannot open are not among them. Waits for no lock longer than a
  // moment. After `lease` without HostLiveness::renew_channels() another host may serve them.
  virtual Result<std::vector<ServedChannel>> serve_channels(HostId host, std::span<const RouteShare* const> shares,
                                                            Millis lease) = 0;
  // Another host may serve the channels of these organisations. Requires that none of their deliveries is under way on this host.
  virtual Result<void> leave_channels(HostId host, std::span<const OrgId> orgs) = 0;
  // Takes permits to start deliveries of targets with a rate, shared by all hosts: for each share, in their order. Waits for no
  // lock longer than a moment; a target whose row is locked beyond that gets none.
  virtual Result<std::vector<Permits>> take_permits(std::span<const RouteShare* const> shares) = 0;
  virtual Result<void> forget(Shard shard, const DoneClaims& done) = 0;
  // Undoes an unconfirmed claim. If it was carried out, its deliveries are due again and nothing counts. If not, it never will
  // be, however long its statement still runs in the server.
  virtual Result<void> give_back(Shard shard, HostId host, ClaimToken token) = 0;
  virtual Result<RouteContract> contract(RouteId route) = 0;
  // Leaves out routes whose contract cannot be read.
  virtual Result<std::map<RouteId, RouteContract>> contracts(std::span<const RouteId> routes) = 0;
};

}  // namespace waybill
