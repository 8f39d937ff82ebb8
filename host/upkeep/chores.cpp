// The chores that every host has.
#include "upkeep/chores.h"

#include <algorithm>

#include "core/form_pipeline.h"

namespace waybill {

Chore queue_numbers(UpkeepStore& store, Metrics& metrics) {
  return {"queue_numbers", Seconds(5), [&store, &metrics]() -> Result<void> {
            const auto state = store.queue_state();
            if (!state) return tl::unexpected(state.error());
            for (const auto status : {Status::waiting, Status::open, Status::due, Status::claimed}) {
              const auto count = state->by_status.find(std::string(to_string(status)));
              metrics.queue_depth(to_string(status), count == state->by_status.end() ? 0 : count->second);
            }
            metrics.oldest_due_age(state->oldest_due ? std::chrono::duration<double>(*state->oldest_due).count() : 0.0);
            return {};
          }};
}

Chore lost_claims(UpkeepStore& store, Log& log) {
  return {"lost_claims", std::chrono::minutes(5), [&store, &log]() -> Result<void> {
            const auto found = store.find_lost_claims();
            if (!found) return tl::unexpected(found.error());
            if (*found > 0) log.error("claim.was_forgotten", {{"deliveries", *found}, {"remedy", "they are taken back now"}});
            return {};
          }};
}

Chore partitions(UpkeepStore& store) {
  return {"partitions", std::chrono::hours(1), [&store] { return store.make_partitions(); }};
}

Chore old_outages(UpkeepStore& store, Millis outage, Log& log) {
  return {"old_outages", std::chrono::minutes(10), [&store, outage, &log]() -> Result<void> {
            const auto forgotten = store.forget_outages(std::max<Millis>(outage, std::chrono::hours(24)));
            if (!forgotten) return tl::unexpected(forgotten.error());
            if (*forgotten > 0) log.info("outages.forgotten", {{"targets", *forgotten}});
            return {};
          }};
}

Chore form_sweep(FormStore& store, int shards, std::function<void()> wake) {
  return {"form_sweep", Seconds(5), [&store, shards, wake = std::move(wake)]() -> Result<void> {
            for (int shard = 0; shard < shards; ++shard) {
              const auto moved = store.sweep(static_cast<Shard>(shard), kTurn);
              if (!moved) return tl::unexpected(moved.error());
              if (*moved > 0) wake();
            }
            return {};
          }};
}

Chore form_retention(FormStore& store, int shards, Log& log) {
  return {"form_retention", Seconds(5), [&store, shards, &log]() -> Result<void> {
            constexpr std::size_t kMostAtOnce = 200;
            for (int shard = 0; shard < shards; ++shard) {
              const auto purged = store.purge(static_cast<Shard>(shard), kMostAtOnce);
              if (!purged) return tl::unexpected(purged.error());
              if (purged->count > 0) log.info("forms.purged", {{"submissions", purged->count}});
              for (const auto& failure : purged->failures)
                log.error("forms.not_purged", {{"submission", failure.submission.value},
                                               {"error", failure.error},
                                               {"remedy", "it is tried again later; what it holds is kept until then"}});
            }
            return {};
          }};
}

}  // namespace waybill
