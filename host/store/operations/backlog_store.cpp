// The length of the queue on PostgreSQL: routes with work, what is counted of each, and what came and went of late.
#include "store/operations/backlog_store.h"

#include <algorithm>
#include <map>

#include "store/operations/backlog.sql.h"
#include "store/pg/tenant_link.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

constexpr std::int64_t kArrivalsLookedAt = 5'000;
constexpr std::int64_t kEndsLookedAt = 20'000;
constexpr std::int64_t kRetriesLookedAt = 200;

using Key = std::pair<OrgId, std::string>;
using Found = std::map<Key, TargetBacklog>;

// What is asked of one route after the other.
struct Routes {
  ArrayText shards, routes;
  std::map<std::int64_t, Key> keys;
  bool is_complete = true;
};

template <class OneRow>
Result<Routes> read_routes(const RowsOf<OneRow>& rows, Found& found) {
  Routes all;
  for (const auto row : rows) {
    const Key key{{row.org_id()}, std::string(row.target())};
    all.shards.add(row.shard());
    all.routes.add(row.route_id());
    all.keys.emplace(row.route_id(), key);
    all.is_complete = row.seen() < kMaxQueueRoutes;
    auto& target = found[key];
    target.name.target = key.second;
    target.action_type = row.action_type();
    const auto contract = contract_from_json(row.contract());
    TRY(contract);
    target.backlog.rate = contract->rate;  // of the newest
  }
  return all;
}

template <class Time>
void keep(std::optional<Timestamp>& kept, const std::optional<Timestamp>& seen, Time chosen) {
  if (seen) kept = kept ? chosen(*kept, *seen) : *seen;
}

void add_length(const RowsOf<sql::length_of_routes_row>& rows, const std::map<std::int64_t, Key>& keys, Found& found) {
  const auto earlier = [](Timestamp a, Timestamp b) { return std::min(a, b); };
  const auto later = [](Timestamp a, Timestamp b) { return std::max(a, b); };
  for (const auto row : rows) {
    auto& backlog = found.at(keys.at(row.route_id())).backlog;
    backlog.due += row.due();
    backlog.scheduled += row.scheduled();
    backlog.collecting += row.collecting();
    backlog.claimed += row.claimed();
    backlog.retries += row.retries();
    keep(backlog.oldest_due, row.oldest_due(), earlier);
    keep(backlog.next_scheduled, row.next_scheduled(), earlier);
    keep(backlog.last_scheduled, row.last_scheduled(), later);
  }
}

std::optional<std::string> number_or_null(const std::optional<OrgId>& org) {
  return org ? std::optional(std::to_string(org->value)) : std::nullopt;
}

class PgBacklogStore final : public BacklogStore {
 public:
  PgBacklogStore(const DatabaseAddress& address, int shards) : address_(address), shards_(shards) {}

  Result<QueueStanding> read(const BacklogFilter& filter, std::int64_t most) override {
    Link link(address_, "queue");
    return link.transact([&](Connection& connection) { return read_in(connection, filter, most); }, kReadOnlySnapshot);
  }

 private:
  Result<QueueStanding> read_in(Connection& connection, const BacklogFilter& filter, std::int64_t most) const {
    QueueStanding standing;
    Found found;
    auto routes = routes_of(connection, filter, found);
    TRY(routes);
    const auto shards = routes->shards.take(), ids = routes->routes.take();
    const auto length = connection.run(sql::length_of_routes, {shards, ids, std::to_string(most + 1)});
    TRY(length);
    add_length(*length, routes->keys, found);
    std::int64_t counted = 0;
    for (const auto& [key, target] : found) counted += target.backlog.waiting() + target.backlog.claimed;
    standing.is_counted = routes->is_complete && counted <= most;
    const auto reasons = connection.run(sql::reasons_of_retries, {shards, ids, std::to_string(kRetriesLookedAt)});
    TRY(reasons);
    for (const auto row : *reasons) {
      standing.reasons.emplace_back(row.reason(), row.count());
      standing.retries_looked_at += row.count();
    }
    const auto org = number_or_null(filter.org);
    const auto quarantined = connection.run(sql::quarantined_of_queue, {org, std::to_string(kMaxQueueRoutes)});
    TRY(quarantined);
    standing.quarantined = quarantined->front().count();
    TRY(add_flow(connection, filter, found));
    TRY(add_stops(connection, org, found));
    TRY(finish(connection, std::move(found), standing));
    return standing;
  }

  Result<Routes> routes_of(Connection& connection, const BacklogFilter& filter, Found& found) const {
    const auto target = null_if_empty(filter.target), type = null_if_empty(filter.action_type);
    const auto most = std::to_string(kMaxQueueRoutes);
    if (filter.org) {
      const auto rows = connection.run(sql::routes_of_org_with_work,
                                       {std::to_string(filter.org->value), target, type, std::to_string(shards_), most});
      TRY(rows);
      return read_routes(*rows, found);
    }
    const auto rows = connection.run(sql::routes_with_work, {target, type, most});
    TRY(rows);
    return read_routes(*rows, found);
  }

  // Also of targets of which nothing waits just now: they are told of where something moves.
  template <class OneRow>
  static Result<void> add_flow(Connection& connection, const RowsOf<OneRow>& rows, const BacklogFilter& filter, Found& found,
                               double Backlog::*into) {
    ArrayText routes;
    std::map<std::int64_t, double> per_minute;
    for (const auto row : rows) {
      if (!row.route_id()) continue;
      routes.add(*row.route_id());
      per_minute[*row.route_id()] = static_cast<double>(row.count()) * 60e6 / static_cast<double>(row.length());
    }
    const auto keys = connection.run(sql::keys_of_routes, {routes.take()});
    TRY(keys);
    for (const auto row : *keys) {
      const Key key{{row.org_id()}, std::string(row.target())};
      if (filter.org && key.first != *filter.org) continue;
      if (!filter.target.empty() && key.second != filter.target) continue;
      if (!filter.action_type.empty() && row.action_type() != filter.action_type) continue;
      auto& target = found[key];
      target.name.target = key.second;
      target.action_type = row.action_type();
      target.backlog.*into += per_minute[row.route_id()];
    }
    return {};
  }

  Result<void> add_flow(Connection& connection, const BacklogFilter& filter, Found& found) const {
    const auto shards = std::to_string(shards_), window = std::to_string(kFlowWindow.count());
    const auto share = [&](std::int64_t most) { return std::to_string(std::max<std::int64_t>(1, most / shards_)); };
    const auto arrivals = connection.run(sql::arrivals_of_late, {shards, share(kArrivalsLookedAt), window});
    TRY(arrivals);
    TRY(add_flow(connection, *arrivals, filter, found, &Backlog::arrivals));
    const auto ends = connection.run(sql::ends_of_late, {shards, share(kEndsLookedAt), window});
    TRY(ends);
    return add_flow(connection, *ends, filter, found, &Backlog::ends);
  }

  static Result<void> add_stops(Connection& connection, const std::optional<std::string>& org, Found& found) {
    const auto stops = connection.run(sql::stops_of_queue, {org, std::to_string(kMaxQueueRoutes)});
    TRY(stops);
    for (const auto row : *stops) {
      const auto at = found.find({{row.org_id()}, std::string(row.target())});
      if (at == found.end() || at->second.backlog.stopped == "paused") continue;
      at->second.backlog.stopped = row.is_paused() ? "paused" : "in an outage";
      at->second.stop_reason = row.reason();
      at->second.cooldown_until = row.until();
    }
    const auto rates = connection.run(sql::ordered_rates_of_queue, {org, std::to_string(kMaxQueueRoutes)});
    TRY(rates);
    for (const auto row : *rates)
      if (const auto at = found.find({{row.org_id()}, std::string(row.target())}); at != found.end())
        at->second.backlog.rate =
            Rate{static_cast<std::uint32_t>(row.count()), std::chrono::duration_cast<Millis>(Micros(row.per()))};
    return {};
  }

  static Result<void> finish(Connection& connection, Found found, QueueStanding& standing) {
    ArrayText orgs;
    for (const auto& [key, target] : found) orgs.add(key.first.value);
    const auto rows = connection.run(sql::named_organisations, {orgs.take()});
    TRY(rows);
    std::map<std::int64_t, std::string> names;
    for (const auto row : *rows) {
      standing.now = row.now();
      if (row.org_id()) names.emplace(*row.org_id(), row.name().value_or(""));
    }
    for (auto& [key, target] : found) {
      target.name.org = names[key.first.value];
      standing.targets.push_back(std::move(target));
    }
    const auto length = [](const TargetBacklog& one) { return one.backlog.waiting() + one.backlog.claimed; };
    std::stable_sort(standing.targets.begin(), standing.targets.end(),
                     [&](const auto& a, const auto& b) { return length(a) > length(b); });
    return {};
  }

  const DatabaseAddress address_;
  const int shards_;
};

}  // namespace

std::unique_ptr<BacklogStore> make_backlog_store(const DatabaseAddress& address, int shards) {
  return std::make_unique<PgBacklogStore>(address, shards);
}

}  // namespace waybill
