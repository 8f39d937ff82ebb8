// The periodic tasks that every host has.
#include "maintenance/periodic_tasks.h"

#include <algorithm>
#include <memory>

#include "domain/form_pipeline.h"

namespace waybill {

PeriodicTask queue_numbers(MaintenanceStore& store, Metrics& metrics) {
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

namespace {
// Hosts forget what they were through with a few seconds after they are back, with each of their sessions.
constexpr auto kWhile = std::chrono::minutes(1);
constexpr auto kPause = std::chrono::seconds(2);
constexpr int kShare = 10;  // of the time, for looking
struct RepeatedLook {
  std::uint64_t sessions = 1;
  Clock::Monotonic until{}, next{};
};
}  // namespace

PeriodicTask orphaned_claims(MaintenanceStore& store, std::function<void()> found, std::function<std::uint64_t()> sessions,
                             const Clock& clock, Log& log) {
  const auto state = std::make_shared<RepeatedLook>();
  return {kLostClaims, std::chrono::minutes(5),
          [&store, found = std::move(found), &log, &clock, state]() -> Result<void> {
            const auto begin = clock.now();
            const auto count = store.find_lost_claims();
            if (!count) return tl::unexpected(count.error());
            state->next = clock.now() + std::max<Clock::Monotonic::duration>(kPause, kShare * (clock.now() - begin));
            if (*count == 0) return {};
            log.error("claim.was_forgotten", {{"deliveries", *count}, {"remedy", "they are taken back now"}});
            found();
            return {};
          },
          [&clock, state, sessions = std::move(sessions)] {
            const auto now = clock.now();
            if (const auto count = sessions(); count > state->sessions) {
              state->sessions = count;
              state->until = now + kWhile;
              state->next = now;
            }
            return now < state->until && now >= state->next;
          }};
}

PeriodicTask partitions(MaintenanceStore& store) {
  return {"partitions", std::chrono::hours(1), [&store] { return store.make_partitions(); }};
}

PeriodicTask old_outages(MaintenanceStore& store, Millis outage, Log& log) {
  return {"old_outages", std::chrono::minutes(10), [&store, outage, &log]() -> Result<void> {
            const auto forgotten = store.forget_outages(std::max<Millis>(outage, std::chrono::hours(24)));
            if (!forgotten) return tl::unexpected(forgotten.error());
            if (*forgotten > 0) log.info("outages.forgotten", {{"targets", *forgotten}});
            return {};
          }};
}

PeriodicTask form_sweep(FormStore& store, int shards, std::function<void()> wake, Log& log) {
  return {"form_sweep", Seconds(5), [&store, shards, wake = std::move(wake), &log]() -> Result<void> {
            for (int shard = 0; shard < shards; ++shard) {
              const auto swept = store.sweep(static_cast<Shard>(shard), kTurn);
              if (!swept) return tl::unexpected(swept.error());
              if (swept->moved > 0) wake();
              for (const auto& failure : swept->failures)
                log.error("forms.not_swept", {{"submission", failure.submission.value},
                                              {"error", failure.error},
                                              {"remedy", "it is tried again later, and stands still until then"}});
            }
            return {};
          }};
}

PeriodicTask form_retention(FormStore& store, int shards, Log& log) {
  return {"form_retention", Seconds(5), [&store, shards, &log]() -> Result<void> {
            constexpr std::size_t kMaxAtOnce = 200;
            for (int shard = 0; shard < shards; ++shard) {
              const auto purged = store.purge(static_cast<Shard>(shard), kMaxAtOnce);
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
