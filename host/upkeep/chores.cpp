// The chores that every host has.
#include "upkeep/chores.h"

#include <algorithm>
#include <memory>

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

namespace {
// Hosts forget what they were through with a few seconds after they are back, with each of their sessions.
constexpr auto kWhile = std::chrono::minutes(1);
constexpr auto kPause = std::chrono::seconds(2);
constexpr int kShare = 10;  // of the time, for looking
struct LookingAgain {
  std::uint64_t sessions = 1;
  Clock::Monotonic until{}, next{};
};
}  // namespace

Chore lost_claims(UpkeepStore& store, Log& log, const Clock& clock, std::function<std::uint64_t()> sessions) {
  const auto state = std::make_shared<LookingAgain>();
  return {"lost_claims", std::chrono::minutes(5),
          [&store, &log, &clock, state]() -> Result<void> {
            const auto begin = clock.now();
            const auto found = store.find_lost_claims();
            if (!found) return tl::unexpected(found.error());
            state->next = clock.now() + std::max<Clock::Monotonic::duration>(kPause, kShare * (clock.now() - begin));
            if (*found > 0) log.error("claim.was_forgotten", {{"deliveries", *found}, {"remedy", "they are taken back now"}});
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

Chore partitions(UpkeepStore& store) {
  return {"partitions", std::chrono::hours(1), [&store] { return store.make_partitions(); }};
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
              if (*purged > 0) log.info("forms.purged", {{"submissions", *purged}});
            }
            return {};
          }};
}

}  // namespace waybill
