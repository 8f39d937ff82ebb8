// The queue: which routes have work, and taking it.
#include <algorithm>
#include <unordered_map>

#include "store/claimed_rows.h"
#include "store/pg_stores.h"
#include "store/sql/claim.h"

namespace waybill {
namespace {

constexpr Statement kDueRoutes = sql::due_routes;
constexpr Statement kCooldowns = sql::cooldowns;
constexpr Statement kBeginProbes = sql::begin_probes;
constexpr Statement kTakePermits = sql::take_permits;
constexpr Statement kClaim = sql::claim;
constexpr Statement kBodies = sql::claimed_bodies;
constexpr Statement kTombstone = sql::claim_tombstone;
constexpr Statement kGiveBack = sql::give_back;
constexpr Statement kForget = sql::forget_claims;
constexpr Statement kContracts = sql::contracts;

class PgQueueStore final : public QueueStore {
 public:
  explicit PgQueueStore(const DatabaseAddress& address) : link_(address, "claim") {}

  Result<DueRoutes> due_routes(Shard shard) override {
    auto rows = link_.run(kDueRoutes, {std::to_string(shard)});
    if (!rows) return tl::unexpected(rows.error());
    DueRoutes due{.now = rows->time(0, 0), .routes = {}};
    for (std::size_t row = 0; row < rows->size(); ++row)
      if (!rows->is_null(row, 1)) due.routes.push_back({{rows->number(row, 1)}, {rows->number(row, 2)}, rows->time(row, 3)});
    return due;
  }

  Result<Cooldowns> cooldowns() override {
    auto rows = link_.run(kCooldowns);
    if (!rows) return tl::unexpected(rows.error());
    return Cooldowns{rows->time(0, 0), rests_of(*rows, 1)};
  }

  Result<std::vector<Cooldown>> begin_probes(std::span<const Cooldown> targets, HostId host, Millis length) override {
    ArrayText org, target;
    for (const auto& one : targets) {
      org.add(one.org.value);
      target.add(one.target);
    }
    auto rows = link_.run(kBeginProbes, {org.take(), target.take(), std::to_string(host.value), std::to_string(length.count())});
    if (!rows) return tl::unexpected(rows.error());
    return rests_of(*rows, 0);
  }

  Result<Permits> take_permits(OrgId org, const std::string& target, const Rate& rate, std::size_t wanted) override {
    auto rows = link_.run(kTakePermits, {std::to_string(org.value), target, std::to_string(wanted), std::to_string(rate.count),
                                         std::to_string(Micros(rate.per).count())});
    if (!rows) return tl::unexpected(rows.error());
    return Permits{static_cast<std::size_t>(rows->number(0, 0)), Micros{rows->number(0, 1)}};
  }

  Result<ClaimResult> claim(Shard shard, HostId host, ClaimToken token, Millis lease, std::span<const RouteShare> shares,
                            const DoneClaims& done, std::size_t most_bytes) override {
    ArrayText route, most, after, after_id, org, cooldown_key, probe, max_age;
    for (const auto& share : shares) {
      route.add(share.route.value);
      most.add(static_cast<std::int64_t>(share.count));
      after.add(share.after.micros);
      after_id.add(share.after_id.value);
      org.add(share.org.value);
      cooldown_key.add(share.cooldown_key);
      probe.add_flag(share.probe);
      share.max_age ? max_age.add(share.max_age->count()) : max_age.add_null();
    }
    std::size_t wanted = 0;
    for (const auto& share : shares) wanted += share.count;
    const auto part = most_bytes / std::max<std::size_t>(wanted, 1);
    auto rows =
        link_.run(kClaim, {std::to_string(shard), std::to_string(token.value), std::to_string(host.value),
                           std::to_string(lease.count()), route.take(), most.take(), after.take(), after_id.take(), tokens(done),
                           org.take(), cooldown_key.take(), probe.take(), max_age.take(), std::to_string(part)});
    if (!rows) return tl::unexpected(rows.error());
    ClaimResult claimed;
    claimed.rows.reserve(rows->size());
    for (std::size_t row = 0; row < rows->size(); ++row) {
      claimed.now = rows->time(row, 0);
      claimed.rows.push_back(read_claimed(*rows, row));
    }
    std::sort(claimed.rows.begin(), claimed.rows.end(),
              [](const auto& a, const auto& b) { return std::pair(a.due, a.delivery) < std::pair(b.due, b.delivery); });
    add_large_bodies(shard, claimed.rows, most_bytes);
    return claimed;
  }

  Result<void> forget(Shard shard, const DoneClaims& done) override {
    auto forgotten = link_.run(kForget, {std::to_string(shard), tokens(done)});
    if (!forgotten) return tl::unexpected(forgotten.error());
    return {};
  }

  Result<void> give_back(Shard shard, HostId host, ClaimToken token) override {
    const std::string shard_text = std::to_string(shard), token_text = std::to_string(token.value);
    const std::string host_text = std::to_string(host.value);
    auto unregistered = link_.run(kTombstone, {shard_text, host_text, token_text});
    if (!unregistered) return tl::unexpected(unregistered.error());
    auto done = link_.run(kGiveBack, {shard_text, token_text, host_text});
    if (!done) return tl::unexpected(done.error());
    return {};
  }

  Result<RouteContract> contract(RouteId route) override {
    auto all = contracts({&route, 1});
    if (!all) return tl::unexpected(all.error());
    if (all->empty()) return fail(Error::Kind::bug, "route " + std::to_string(route.value) + " has no contract that can be read");
    return std::move(all->begin()->second);
  }

  Result<std::map<RouteId, RouteContract>> contracts(std::span<const RouteId> routes) override {
    ArrayText ids;
    for (const auto route : routes) ids.add(route.value);
    auto rows = link_.run(kContracts, {ids.take()});
    if (!rows) return tl::unexpected(rows.error());
    std::map<RouteId, RouteContract> all;
    for (std::size_t row = 0; row < rows->size(); ++row)
      if (auto contract = contract_from_json(rows->text(row, 2)))
        all.emplace(RouteId{rows->number(row, 0)}, RouteContract{{rows->number(row, 1)}, std::move(*contract)});
    return all;
  }

 private:
  static std::vector<Cooldown> rests_of(const Rows& rows, int first) {
    std::vector<Cooldown> all;
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (!rows.is_null(row, first))
        all.push_back({{rows.number(row, first)},
                       std::string(rows.text(row, first + 1)),
                       rows.time(row, first + 2),
                       std::string(rows.text(row, first + 3)),
                       rows.time(row, first + 4)});
    return all;
  }

  // Most bodies are small and come with the claim; those that are larger than their part come after it, as far as there is room.
  // Without its body a row is given back, so nothing is lost when they do not come.
  void add_large_bodies(Shard shard, std::vector<ClaimedRow>& rows, std::size_t most_bytes) {
    std::size_t bytes = 0;
    for (const auto& row : rows) bytes += row.payload.size();
    std::unordered_map<DeliveryId, ClaimedRow*> large;
    ArrayText ids;
    for (auto& row : rows) {
      if (!row.withheld || (bytes > 0 && bytes + row.body_bytes > most_bytes)) continue;
      bytes += row.body_bytes;
      large.emplace(row.delivery, &row);
      ids.add(row.delivery.value);
    }
    if (large.empty()) return;
    const auto bodies = link_.run(kBodies, {std::to_string(shard), ids.take()});
    if (!bodies) return;
    for (std::size_t row = 0; row < bodies->size(); ++row) {
      ClaimedRow& claimed = *large.at({bodies->number(row, 0)});
      claimed.payload = bodies->text(row, 1);
      claimed.withheld = false;
    }
  }

  static std::string tokens(const DoneClaims& done) {
    ArrayText all;
    for (const auto token : done) all.add(token.value);
    return all.take();
  }

  Link link_;
};

}  // namespace

std::unique_ptr<QueueStore> make_queue_store(const DatabaseAddress& address) { return std::make_unique<PgQueueStore>(address); }

}  // namespace waybill
