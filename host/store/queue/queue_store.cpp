// The queue on PostgreSQL: which routes have work, and claiming it.
#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>

#include "domain/job.h"
#include "store/pg_stores.h"
#include "store/queue/claim.sql.h"
#include "store/queue/claimed_channels.h"
#include "store/queue/claimed_rows.h"
#include "store/queue/cooldown_rows.h"

namespace waybill {
namespace {

// A pause holds whatever else is known of its target.
void add_pauses(Cooldowns& known, std::vector<Cooldown> paused) {
  std::set<std::pair<OrgId, std::string>> targets;
  for (const auto& pause : paused) targets.emplace(pause.org, pause.target);
  std::erase_if(known.all, [&](const Cooldown& one) { return targets.contains({one.org, one.target}); });
  std::move(paused.begin(), paused.end(), std::back_inserter(known.all));
}

class PgQueueStore final : public QueueStore {
 public:
  PgQueueStore(const DatabaseAddress& address, std::vector<std::string> masters)
      : link_(address, "claim"), masters_(std::move(masters)) {}

  Result<DueRoutes> due_routes(Shard shard) override {
    auto rows = link_.run(sql::due_routes, {std::to_string(shard)});
    TRY(rows);
    DueRoutes due{.now = rows->front().now(), .routes = {}};
    for (const auto row : *rows)
      if (row.route_id()) due.routes.push_back({{*row.route_id()}, {*row.org_id()}, *row.due()});
    return due;
  }

  Result<Cooldowns> cooldowns(HostId host) override {
    auto rows = link_.run(sql::cooldowns, {std::to_string(host.value)});
    TRY(rows);
    Cooldowns known{.now = rows->front().now(), .all = {}};
    std::vector<Cooldown> paused;
    for (const auto row : *rows) {
      if (!row.org_id()) continue;
      const auto whose = *row.whose();
      const HostFinding finding{{*row.org_id()}, std::string(*row.target()), *row.since(), whose == "refuted"};
      if (whose == "another's") {
        known.of_others.push_back(finding);
        continue;
      }
      if (whose == "paused") {
        paused.push_back({finding.org, finding.target, *row.until(), std::string(*row.reason()), finding.since});
        continue;
      }
      const bool is_own = whose != "all";
      if (is_own) known.own.push_back(finding);
      known.all.push_back({finding.org, finding.target, *row.until(), std::string(*row.reason()), finding.since, is_own});
    }
    if (!paused.empty()) add_pauses(known, std::move(paused));
    return known;
  }

  Result<void> refute(std::span<const HostFinding> findings, HostId host) override {
    auto [org, target] = names_of(findings);
    TRY(link_.run(sql::refute_findings, {std::move(org), std::move(target), std::to_string(host.value)}));
    return {};
  }

  Result<std::vector<Cooldown>> begin_probes(std::span<const Cooldown> targets, HostId host, Millis length) override {
    auto [org, target] = names_of(targets);
    auto rows = link_.run(sql::begin_probes,
                          {std::move(org), std::move(target), std::to_string(host.value), std::to_string(length.count())});
    TRY(rows);
    return read_cooldowns(*rows);
  }

  Result<void> release_probes(std::span<const Cooldown> targets, HostId host) override {
    auto [org, target] = names_of(targets);
    TRY(link_.run(sql::release_probes, {std::move(org), std::move(target), std::to_string(host.value)}));
    return {};
  }

  Result<OrgWeights> weights() override {
    auto rows = link_.run(sql::org_weights);
    TRY(rows);
    OrgWeights all;
    for (const auto row : *rows) all.emplace(OrgId{row.org_id()}, static_cast<std::uint32_t>(row.weight()));
    return all;
  }

  Result<OrderedRates> ordered_rates() override {
    auto rows = link_.run(sql::rate_orders);
    TRY(rows);
    OrderedRates all;
    for (const auto row : *rows)
      all.emplace(std::pair(OrgId{row.org_id()}, std::string(row.target())),
                  Rate{static_cast<std::uint32_t>(row.count()), std::chrono::duration_cast<Millis>(Micros(row.per()))});
    return all;
  }

  Result<std::vector<ServedChannel>> serve_channels(HostId host, std::span<const RouteShare* const> shares,
                                                    Millis lease) override {
    ArrayText org, channel, route, master;
    for (const auto* share : shares) {
      org.add(share->org.value);
      channel.add(share->channel);
      route.add(share->route.value);
    }
    for (const auto& one : masters_) master.add(one);
    auto rows = link_.run(sql::serve_channels, {std::to_string(host.value), org.take(), channel.take(), route.take(),
                                                master.take(), std::to_string(lease.count())});
    TRY(rows);
    std::vector<ServedChannel> served;
    for (const auto row : *rows) served.push_back({{row.route_id()}, rate_from(row.rate())});
    return served;
  }

  Result<void> leave_channels(HostId host, std::span<const OrgId> orgs) override {
    ArrayText org;
    for (const auto one : orgs) org.add(one.value);
    TRY(link_.run(sql::leave_channels, {std::to_string(host.value), org.take()}));
    return {};
  }

  Result<std::vector<Permits>> take_permits(std::span<const RouteShare* const> shares) override {
    ArrayText org, target, wanted, count, per;
    for (const auto* share : shares) {
      org.add(share->org.value);
      target.add(share->cooldown_key.empty() ? share->target : share->cooldown_key);
      wanted.add(static_cast<std::int64_t>(share->count));
      count.add(static_cast<std::int64_t>(share->rate->count));
      per.add(Micros(share->rate->per).count());
    }
    auto rows = link_.run(sql::take_permits, {org.take(), target.take(), wanted.take(), count.take(), per.take()});
    TRY(rows);
    std::vector<Permits> permits;
    for (const auto row : *rows) permits.push_back({static_cast<std::size_t>(row.granted()), Micros{row.wait()}});
    return permits;
  }

  Result<ClaimResult> claim(Shard shard, HostId host, ClaimToken token, Millis lease, std::span<const RouteShare> shares,
                            const DoneClaims& done, std::size_t most_bytes) override {
    ArrayText route, most, after, after_id, org, cooldown_key, probe, min_age;
    for (const auto& share : shares) {
      route.add(share.route.value);
      most.add(static_cast<std::int64_t>(share.count));
      after.add(share.after.micros);
      after_id.add(share.after_id.value);
      org.add(share.org.value);
      cooldown_key.add(share.cooldown_key);
      probe.add_flag(share.probe);
      share.min_age ? min_age.add(share.min_age->count()) : min_age.add_null();
    }
    std::size_t wanted = 0;
    for (const auto& share : shares) wanted += share.count;
    const auto part = most_bytes / std::max<std::size_t>(wanted, 1);
    auto rows = link_.run(sql::claim,
                          {std::to_string(shard), std::to_string(token.value), std::to_string(host.value),
                           std::to_string(lease.count()), route.take(), most.take(), after.take(), after_id.take(), tokens(done),
                           org.take(), cooldown_key.take(), probe.take(), min_age.take(), std::to_string(part)});
    TRY(rows);
    ClaimResult claimed;
    claimed.rows.reserve(rows->size());
    for (const auto row : *rows) {
      claimed.now = row.now();
      claimed.rows.push_back(read_claimed(row));
    }
    std::sort(claimed.rows.begin(), claimed.rows.end(),
              [](const auto& a, const auto& b) { return std::pair(a.due, a.delivery) < std::pair(b.due, b.delivery); });
    if (!add_channels(link_, shard, claimed.rows)) withhold_notifications(claimed.rows);
    add_large_bodies(shard, claimed.rows, most_bytes);
    return claimed;
  }

  Result<void> forget(Shard shard, const DoneClaims& done) override {
    TRY(link_.run(sql::forget_claims, {std::to_string(shard), tokens(done)}));
    return {};
  }

  Result<void> give_back(Shard shard, HostId host, ClaimToken token) override {
    const std::string shard_text = std::to_string(shard), token_text = std::to_string(token.value);
    const std::string host_text = std::to_string(host.value);
    TRY(link_.run(sql::claim_tombstone, {shard_text, host_text, token_text}));
    TRY(link_.run(sql::give_back, {shard_text, token_text, host_text}));
    return {};
  }

  Result<RouteContract> contract(RouteId route) override {
    auto all = contracts({&route, 1});
    TRY(all);
    if (all->empty()) return fail(Error::Kind::bug, "route " + std::to_string(route.value) + " has no contract that can be read");
    return std::move(all->begin()->second);
  }

  Result<std::map<RouteId, RouteContract>> contracts(std::span<const RouteId> routes) override {
    ArrayText ids;
    for (const auto route : routes) ids.add(route.value);
    auto rows = link_.run(sql::contracts, {ids.take()});
    TRY(rows);
    std::map<RouteId, RouteContract> all;
    for (const auto row : *rows)
      if (auto contract = contract_from_json(row.contract()))
        all.emplace(RouteId{row.route_id()}, RouteContract{{row.org_id()}, std::move(*contract)});
    return all;
  }

 private:
  // Most bodies are small and come with the claim; those that are larger than their part come after it, as far as there is room.
  // Without its body a row is given back, so nothing is lost when they do not come.
  void add_large_bodies(Shard shard, std::vector<ClaimedRow>& rows, std::size_t most_bytes) {
    std::size_t bytes = 0;
    for (const auto& row : rows) bytes += row.payload.size();
    std::unordered_map<DeliveryId, ClaimedRow*> large;
    ArrayText ids;
    for (auto& row : rows) {
      if (!row.withheld || is_without_channel(row) || (bytes > 0 && bytes + row.body_bytes > most_bytes)) continue;
      bytes += row.body_bytes;
      large.emplace(row.delivery, &row);
      ids.add(row.delivery.value);
    }
    if (large.empty()) return;
    const auto bodies = link_.run(sql::claimed_bodies, {std::to_string(shard), ids.take()});
    if (!bodies) return;
    for (const auto row : *bodies) {
      ClaimedRow& claimed = *large.at({row.delivery_id()});
      claimed.payload = text_or_empty(row.body());
      claimed.withheld = false;
    }
  }

  // A notification whose channel is not known is given back, as is a delivery without its body.
  static void withhold_notifications(std::vector<ClaimedRow>& rows) {
    for (auto& row : rows)
      if (row.kind == kNotificationKind) row.withheld = true;
  }
  static bool is_without_channel(const ClaimedRow& row) { return row.kind == kNotificationKind && !row.channel; }

  template <class Named>
  static std::pair<std::string, std::string> names_of(std::span<const Named> targets) {
    ArrayText org, target;
    for (const auto& one : targets) {
      org.add(one.org.value);
      target.add(one.target);
    }
    return {org.take(), target.take()};
  }

  static std::string tokens(const DoneClaims& done) {
    ArrayText all;
    for (const auto token : done) all.add(token.value);
    return all.take();
  }

  Link link_;
  const std::vector<std::string> masters_;
};

}  // namespace

std::unique_ptr<QueueStore> make_queue_store(const DatabaseAddress& address, std::vector<std::string> masters) {
  return std::make_unique<PgQueueStore>(address, std::move(masters));
}

}  // namespace waybill
