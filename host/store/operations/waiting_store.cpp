// What waits, on PostgreSQL. What is ended is claimed and settled in one transaction, as hosts settle.
#include "store/operations/waiting_store.h"

#include "store/operations/waiting.sql.h"
#include "store/pg/tenant_link.h"
#include "store/queue/claim.sql.h"
#include "store/queue/history_rows.h"
#include "store/queue/routes.h"
#include "store/queue/settle_in.h"
#include "store/submissions/read.sql.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxWaitingWalked = 200;      // for a page, of each contract
constexpr std::size_t kMaxWaitingContracts = 1000;  // the newest, of an organisation

using ByShard = std::map<Shard, std::vector<DeliveryId>>;

ByShard by_shard(std::span<const WaitingDelivery> chosen) {
  ByShard all;
  for (const auto& one : chosen) all[shard_of(one.id)].push_back(one.id);
  return all;
}

std::string array_of(const std::vector<DeliveryId>& ids) {
  ArrayText array;
  for (const auto id : ids) array.add(id.value);
  return array.take();
}

Parameters page_parameters(OrgId org, const WaitingFilter& filter, std::size_t most, const DeliveryCursor& from, int shards) {
  Parameters parameters{std::to_string(org.value), null_if_empty(filter.target), null_if_empty(filter.kind),
                        filter.older_than ? std::optional(std::to_string(filter.older_than->count())) : std::nullopt};
  for (const auto number :
       {from.at.micros, from.id.value, static_cast<std::int64_t>(shards), static_cast<std::int64_t>(kMaxWaitingContracts),
        static_cast<std::int64_t>(most + 1), static_cast<std::int64_t>(kMaxWaitingWalked)})
    parameters.emplace_back(std::to_string(number));
  return parameters;
}

WaitingDelivery read_waiting(const sql::waiting_deliveries_row& row) {
  return {.id = {row.delivery_id()},
          .submission = {row.submission_id()},
          .route = {row.route_id()},
          .kind = std::string(row.kind()),
          .reference = std::string(row.client_ref()),
          .target = std::string(row.target()),
          .action_type = std::string(row.action_type()),
          .action_order = static_cast<int>(row.action_order()),
          .created = row.created(),
          .terms = row.terms() ? terms_from(*row.terms()) : nullptr,
          .due = row.due(),
          .history = read_history(row),
          .has_begun = row.has_begun(),
          .last_error = std::string(row.last_error())};
}

template <class OneRow>
Result<std::map<RouteId, Contract>> contracts_of(Connection& connection, const RowsOf<OneRow>& taken) {
  ArrayText routes;
  for (const auto row : taken) routes.add(row.route_id());
  const auto rows = connection.run(sql::contracts, {routes.take()});
  TRY(rows);
  std::map<RouteId, Contract> all;
  for (const auto row : *rows) {
    auto contract = contract_from_json(row.contract());
    TRY(contract);
    all.emplace(RouteId{row.route_id()}, std::move(*contract));
  }
  return all;
}

class PgWaitingStore final : public WaitingStore {
 public:
  PgWaitingStore(const DatabaseAddress& address, int shards) : address_(address), shards_(shards) {}

  Result<std::optional<OrgId>> organisation(const std::string& name) override {
    Link link(address_, "waiting");
    const auto rows = link.read(sql::organisation, {name});
    TRY(rows);
    return rows->empty() ? std::optional<OrgId>() : OrgId{rows->front().org_id()};
  }

  Result<WaitingPage> list(OrgId org, const WaitingFilter& filter, std::size_t most,
                           const std::optional<DeliveryCursor>& after) override {
    Link link(address_, "waiting");
    const auto parameters = page_parameters(org, filter, most, after.value_or(DeliveryCursor{}), shards_);
    const auto rows = TenantLink(link, WithoutTenantRole::rely_on_statements).read(org, sql::waiting_deliveries, parameters);
    TRY(rows);
    WaitingPage page;
    for (const auto row : *rows) {
      page.now = row.now();
      if (row.fits() && page.items.size() == most) {
        page.next = DeliveryCursor{page.items.back().due, page.items.back().id};
        return page;
      }
      if (row.walk_stopped()) page.next = DeliveryCursor{row.due(), {row.delivery_id()}};
      if (row.fits()) page.items.push_back(read_waiting(row));
    }
    return page;
  }

  Result<std::vector<DeliveryId>> end(OrgId org, std::span<const WaitingDelivery> chosen, const EndOfWaiting& settle,
                                      const std::string& reason, const Operator& by) override {
    Link link(address_, "waiting");
    PipelineVersions versions;
    PipelineRows pipelines(versions, shards_);
    return link.transact([&](Connection& connection) -> Result<std::vector<DeliveryId>> {
      std::vector<DeliveryId> ended;
      for (const auto& [shard, ids] : by_shard(chosen)) {
        auto settlements = take(connection, org, shard, ids, settle);
        TRY(settlements);
        if (settlements->empty()) continue;
        TRY(audit(connection, org, shard, *settlements, reason, by));
        const auto settled = settle_in(connection, pipelines, shard, *settlements);
        TRY(settled);
        ended.insert(ended.end(), settled->held.begin(), settled->held.end());
      }
      return ended;
    });
  }

  Result<std::map<DeliveryId, std::size_t>> body_sizes(OrgId org, std::span<const WaitingDelivery> chosen) override {
    return of_each<std::size_t>(org, chosen, sql::body_sizes_of_waiting, [](const auto& row) { return row.bytes(); });
  }

  Result<std::map<DeliveryId, std::string>> bodies(OrgId org, std::span<const WaitingDelivery> chosen) override {
    return of_each<std::string>(org, chosen, sql::bodies_of_waiting, [](const auto& row) { return row.body(); });
  }

  Result<std::vector<DeliveryId>> reroute(OrgId org, std::span<const WaitingDelivery> chosen, const NewRoute& wanted,
                                          const Operator& by) override {
    Link link(address_, "waiting");
    return link.transact([&](Connection& connection) -> Result<std::vector<DeliveryId>> {
      const auto route = route_of(connection, org, wanted.contract);
      TRY(route);
      std::vector<DeliveryId> moved;
      for (const auto& [shard, ids] : by_shard(chosen)) {
        const auto rows =
            connection.run(sql::reroute_waiting, {std::to_string(shard), std::to_string(org.value), array_of(ids),
                                                  std::to_string(route->value), wanted.from, wanted.to, by.actor, by.trigger});
        TRY(rows);
        for (const auto row : *rows) moved.push_back({row.delivery_id()});
      }
      return moved;
    });
  }

  Result<std::vector<Settlement>> end_expired(Shard shard, std::size_t most, const EndOfWaiting& settle) override {
    Link link(address_, "waiting");
    PipelineVersions versions;
    PipelineRows pipelines(versions, shards_);
    return link.transact([&](Connection& connection) -> Result<std::vector<Settlement>> {
      const auto rows =
          connection.run(sql::take_expired, {std::to_string(shard), std::to_string(most), std::to_string(kOperatorsToken.value)});
      TRY(rows);
      auto settlements = settled_as(connection, *rows, settle);
      TRY(settlements);
      if (!settlements->empty()) TRY(settle_in(connection, pipelines, shard, *settlements));
      return settlements;
    });
  }

 private:
  // What `read` finds in the statement's row of each; what is null is left out.
  template <class Value, class Statement, class Read>
  Result<std::map<DeliveryId, Value>> of_each(OrgId org, std::span<const WaitingDelivery> chosen, const Statement& statement,
                                              const Read& read) const {
    Link link(address_, "waiting");
    return link.transact([&](Connection& connection) -> Result<std::map<DeliveryId, Value>> {
      std::map<DeliveryId, Value> all;
      for (const auto& [shard, ids] : by_shard(chosen)) {
        const auto rows = connection.run(statement, {std::to_string(shard), std::to_string(org.value), array_of(ids)});
        TRY(rows);
        for (const auto row : *rows)
          if (const auto value = read(row)) all.emplace(DeliveryId{row.delivery_id()}, Value(*value));
      }
      return all;
    });
  }

  // The settlements of those that still wait, which this transaction holds.
  static Result<std::vector<Settlement>> take(Connection& connection, OrgId org, Shard shard, const std::vector<DeliveryId>& ids,
                                              const EndOfWaiting& settle) {
    const auto rows = connection.run(sql::take_waiting, {std::to_string(shard), std::to_string(org.value), array_of(ids),
                                                         std::to_string(kOperatorsToken.value)});
    TRY(rows);
    return settled_as(connection, *rows, settle);
  }

  template <class OneRow>
  static Result<std::vector<Settlement>> settled_as(Connection& connection, const RowsOf<OneRow>& rows,
                                                    const EndOfWaiting& settle) {
    const auto contracts = contracts_of(connection, rows);
    TRY(contracts);
    std::vector<Settlement> settlements;
    for (const auto row : rows) {
      const RouteId route{row.route_id()};
      const WaitingDelivery taken{.id = {row.delivery_id()},
                                  .submission = {row.submission_id()},
                                  .route = route,
                                  .kind = std::string(row.kind()),
                                  .reference = std::string(row.client_ref()),
                                  .target = {},
                                  .action_type = {},
                                  .action_order = static_cast<int>(row.action_order()),
                                  .created = row.created(),
                                  .due = {},
                                  .history = read_history(row),
                                  .last_error = {}};
      settlements.push_back(settle(taken, contracts->at(route), row.now()));
    }
    return settlements;
  }

  static Result<void> audit(Connection& connection, OrgId org, Shard shard, const std::vector<Settlement>& settlements,
                            const std::string& reason, const Operator& by) {
    ArrayText delivery, submission;
    for (const auto& one : settlements) {
      delivery.add(one.delivery.value);
      submission.add(one.submission.value);
    }
    TRY(connection.run(sql::audit_waiting, {std::to_string(shard), std::to_string(org.value), delivery.take(), submission.take(),
                                            by.actor, by.trigger, reason}));
    return {};
  }

  const DatabaseAddress address_;
  const int shards_;
};

}  // namespace

std::unique_ptr<WaitingStore> make_waiting_store(const DatabaseAddress& address, int shards) {
  return std::make_unique<PgWaitingStore>(address, shards);
}

}  // namespace waybill
