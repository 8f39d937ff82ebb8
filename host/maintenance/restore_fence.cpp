// Walks the queue shard by shard: first what must not be sent again, then what may be.
#include "maintenance/restore_fence.h"

#include <unordered_set>
#include <vector>

#include "settle/settlement.h"
#include "settle/settlement_writer.h"
#include "telemetry/metrics.h"

namespace waybill {
namespace {

class Fence {
 public:
  Fence(const FenceStores& stores, const FenceOrder& order, Log& log, const std::function<void(std::int64_t)>& progress)
      : stores_(stores), order_(order), writer_(stores.settle, log, metrics_), progress_(progress) {}

  Result<FenceReport> run() {
    TRY(refuse_unfit());
    if (!order_.dry_run) {
      const auto begun = stores_.fence.begin(order_.restored_to, order_.actor);
      TRY(begun);
      report_.is_new = *begun;
    }
    for (int i = 0; i < order_.shards; ++i) TRY(end_shard(static_cast<Shard>(i)));
    for (int i = 0; i < order_.shards; ++i) TRY(note_shard(static_cast<Shard>(i)));
    if (!order_.dry_run) TRY(stores_.fence.end(order_.restored_to, order_.actor, report_.ended, report_.noted));
    return std::move(report_);
  }

 private:
  Result<void> refuse_unfit() {
    const auto state = stores_.fence.state();
    TRY(state);
    const auto moment = format_rfc3339(order_.restored_to);
    if (order_.restored_to > state->now)
      return fail(Error::Kind::invalid, moment + " is in the future: the database's time is " + format_rfc3339(state->now));
    if (order_.force) return {};
    TRY(refuse_hosts(state->living));
    if (state->newest && *state->newest > order_.restored_to)
      return fail(Error::Kind::conflict, "the newest submission came in at " + format_rfc3339(*state->newest) + ", after " +
                                             moment +
                                             ": either the database was restored to a later moment than that, or a host has run "
                                             "since; give the right moment, or --force if a host has run");
    return {};
  }
  Result<void> refuse_hosts(const std::string& living) const {
    if (living.empty() || order_.force) return {};
    return fail(Error::Kind::conflict, "hosts are running (" + living + "): they send what is open; stop them first");
  }

  Result<void> end_shard(Shard shard) {
    for (std::optional<DeliveryId> after = DeliveryId{};;) {
      const auto page = stores_.fence.in_doubt(shard, order_.restored_to, *after, order_.batch);
      TRY(page);
      if (!order_.dry_run && !page->items.empty())
        TRY(end_page(shard, *page));
      else
        for (const auto& one : page->items) count(one);
      if (!page->next) return {};
      after = page->next;
    }
  }

  Result<void> end_page(Shard shard, const DoubtPage& page) {
    const auto state = stores_.fence.state();
    TRY(state);
    TRY(refuse_hosts(state->living));  // one may have begun meanwhile
    const auto token = stores_.fence.new_token();
    TRY(token);
    std::vector<DeliveryId> wanted;
    for (const auto& one : page.items) wanted.push_back(one.delivery.delivery);
    const auto taken = stores_.fence.take(shard, *token, wanted);
    TRY(taken);
    const std::unordered_set<DeliveryId> ours(taken->begin(), taken->end());
    std::vector<Settlement> settlements;
    std::vector<const DoubtfulDelivery*> items;
    for (const auto& one : page.items) {
      if (!ours.contains(one.delivery.delivery)) continue;
      const auto contract = contract_of(one.delivery.route);
      TRY(contract);
      auto delivery = one.delivery;
      delivery.token = *token;
      settlements.push_back(settlement_of_restored(delivery, **contract, page.now, order_.actor));
      items.push_back(&one);
    }
    return write(shard, settlements, items);
  }

  Result<void> write(Shard shard, std::vector<Settlement>& settlements, const std::vector<const DoubtfulDelivery*>& items) {
    std::size_t refused = 0;
    const auto written = writer_.settle(shard, settlements,
                                        {.written =
                                             [&](std::size_t first, std::size_t number, const SettleResult& result) {
                                               const std::unordered_set<DeliveryId> held(result.held.begin(), result.held.end());
                                               for (std::size_t at = first; at < first + number; ++at)
                                                 if (held.contains(items[at]->delivery.delivery)) count(*items[at]);
                                             },
                                         .refused = [&](std::size_t) { ++refused; },
                                         .about =
                                             [&](std::size_t at) {
                                               return SettlementWriter::About{items[at]->delivery.client_ref, {}};
                                             }});
    TRY(written);
    if (refused > 0)
      return fail(Error::Kind::bug,
                  "the database refused the end of " + std::to_string(refused) + " deliveries; the log names them");
    return {};
  }

  void count(const DoubtfulDelivery& one) {
    ++report_.by_target[{one.org, one.target}];
    ++report_.ended;
    if (progress_) progress_(report_.ended);
  }

  Result<void> note_shard(Shard shard) {
    for (std::optional<DeliveryId> after = DeliveryId{};;) {
      const auto noted = stores_.fence.note_doubt(shard, order_.restored_to, *after, order_.batch, order_.dry_run);
      TRY(noted);
      report_.noted += noted->count;
      if (!noted->next) return {};
      after = noted->next;
    }
  }

  Result<const Contract*> contract_of(RouteId route) {
    if (const auto known = contracts_.find(route); known != contracts_.end()) return &known->second;
    auto read = stores_.queue.contract(route);
    TRY(read);
    return &contracts_.emplace(route, std::move(read->contract)).first->second;
  }

  const FenceStores& stores_;
  const FenceOrder& order_;
  Metrics metrics_;  // nobody asks for them
  SettlementWriter writer_;
  const std::function<void(std::int64_t)>& progress_;
  std::map<RouteId, Contract> contracts_;
  FenceReport report_;
};

}  // namespace

Result<FenceReport> fence_restored(const FenceStores& stores, const FenceOrder& order, Log& log,
                                   const std::function<void(std::int64_t)>& progress) {
  return Fence(stores, order, log, progress).run();
}

}  // namespace waybill
