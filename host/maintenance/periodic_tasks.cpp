// The periodic tasks that every host has.
#include "maintenance/periodic_tasks.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "domain/form_pipeline.h"
#include "domain/job.h"
#include "settle/settlement.h"

namespace waybill {

PeriodicTask queue_numbers(MaintenanceStore& store, Metrics& metrics) {
  return {"queue_numbers", Seconds(5), [&store, &metrics]() -> Result<void> {
            const auto state = store.queue_state();
            TRY(state);
            for (const char* status : {"waiting", "open", "scheduled", "due", "claimed"}) {
              const auto count = state->by_status.find(status);
              metrics.queue_depth(status, count == state->by_status.end() ? 0 : count->second);
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

PeriodicTask unregistered_claims(MaintenanceStore& store, std::function<void()> found, std::function<void()> again,
                                 std::function<std::uint64_t()> sessions, const Clock& clock, Log& log) {
  const auto state = std::make_shared<RepeatedLook>();
  return {kUnregisteredClaims, std::chrono::minutes(5),
          [&store, found = std::move(found), again = std::move(again), &log, &clock, state]() -> Result<void> {
            const auto begin = clock.now();
            if (begin < state->until) again();
            const auto count = store.find_unregistered_claims();
            TRY(count);
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
            TRY(forgotten);
            if (*forgotten > 0) log.info("outages.forgotten", {{"targets", *forgotten}});
            return {};
          }};
}

PeriodicTask form_sweep(FormStore& store, int shards, std::function<void()> wake, Log& log) {
  return {"form_sweep", Seconds(5), [&store, shards, wake = std::move(wake), &log]() -> Result<void> {
            for (int shard = 0; shard < shards; ++shard) {
              const auto swept = store.sweep(static_cast<Shard>(shard), kTurn);
              TRY(swept);
              if (swept->moved > 0) wake();
              for (const auto& failure : swept->failures)
                log.error("forms.not_swept", {{"submission", failure.submission.value},
                                              {"error", failure.error},
                                              {"remedy", "it is tried again later, and stands still until then"}});
            }
            return {};
          }};
}

PeriodicTask pipeline_sweep(PipelineStore& store, int shards, std::function<void()> wake, Log& log) {
  PeriodicTask task{"pipeline_sweep", Seconds(30), [&store, shards, wake = std::move(wake), &log]() -> Result<void> {
                      constexpr std::size_t kMaxAtOnce = 100;
                      for (int shard = 0; shard < shards; ++shard) {
                        const auto moved = store.sweep(static_cast<Shard>(shard), kMaxAtOnce);
                        TRY(moved);
                        if (*moved == 0) continue;
                        log.info("pipelines.unblocked", {{"submissions", *moved}});
                        wake();
                      }
                      return {};
                    }};
  task.is_bounded = true;
  return task;
}

PeriodicTask pipeline_rates(PipelineStore& store,
                            std::function<std::vector<std::shared_ptr<const PipelineDefinition>>()> pipelines, Metrics& metrics) {
  return {"pipeline_rates", Seconds(30), [&store, pipelines = std::move(pipelines), &metrics]() -> Result<void> {
            for (const auto& definition : pipelines()) {
              const auto& pipeline = definition->pipeline;
              std::optional<PipelineShares> shares;  // asked for where they are declared
              for (const auto& metric : pipeline.metrics) {
                if (metric.kind != PipelineMetric::Kind::rate) continue;
                if (!shares) {
                  auto found = store.shares(pipeline.name, std::nullopt, std::chrono::hours(24));
                  TRY(found);
                  shares = std::move(*found);
                }
                metrics.declared_rate(metric.name, pipeline.name, shares->share_of(metric.state).value_or(0));
              }
            }
            return {};
          }};
}

PeriodicTask form_retention(FormStore& store, int shards, Log& log) {
  return {"form_retention", Seconds(5), [&store, shards, &log]() -> Result<void> {
            constexpr std::size_t kMaxAtOnce = 200;
            for (int shard = 0; shard < shards; ++shard) {
              const auto purged = store.purge(static_cast<Shard>(shard), kMaxAtOnce);
              TRY(purged);
              if (purged->count > 0) log.info("forms.purged", {{"submissions", purged->count}});
              for (const auto& failure : purged->failures)
                log.error("forms.not_purged", {{"submission", failure.submission.value},
                                               {"error", failure.error},
                                               {"remedy", "it is tried again later; what it holds is kept until then"}});
            }
            return {};
          }};
}

namespace {
constexpr auto kBetweenWalks = std::chrono::hours(1);
}

// Walks the submissions of each shard from the oldest on. What is kept is passed over once in a walk; the next one begins an hour
// later. Events follow when all walks are over, until there are no more: while many notifications still wait for their turn, it
// would mean to pass over all their events again for each batch.
PeriodicTask retention(MaintenanceStore& store, int shards, std::vector<KeptKind> kinds, Log& log) {
  constexpr std::size_t kBatch = 500;
  constexpr std::size_t kListedBatch = 10;  // each stands for thousands of intents
  struct Walk {
    SubmissionId at{};
    std::chrono::steady_clock::time_point next{};
  };
  std::erase_if(kinds, [](const KeptKind& one) { return one.age == Millis{0}; });
  const auto events = std::find_if(kinds.begin(), kinds.end(), [](const KeptKind& one) { return one.kind == kNotificationKind; });
  const Millis event_age = events == kinds.end() ? Millis{0} : events->age;
  const auto intents = std::find_if(kinds.begin(), kinds.end(), [](const KeptKind& one) { return one.kind == kIntentKind; });
  const Millis intent_age = intents == kinds.end() ? Millis{0} : intents->age;
  return {"retention", Seconds{1},
          [&store, kinds = std::move(kinds), event_age, intent_age, walks = std::vector<Walk>(static_cast<std::size_t>(shards)),
           listed = ListedPlace{}, events_left = false, &log]() mutable -> Result<void> {
            if (kinds.empty()) return {};
            if (intent_age > Millis{0}) {
              const auto last = store.forget_listed(listed, intent_age, kListedBatch);
              TRY(last);
              listed = last->value_or(ListedPlace{});
            }
            std::uint64_t deleted = 0;
            bool walks_on = false, walk_ended = false;
            for (std::size_t shard = 0; shard < walks.size(); ++shard) {
              Walk& walk = walks[shard];
              if (std::chrono::steady_clock::now() < walk.next) continue;
              const auto step = store.delete_old(static_cast<Shard>(shard), walk.at, kinds, kBatch);
              TRY(step);
              deleted += step->deleted;
              walk.at = step->is_over ? SubmissionId{} : step->last;
              if (step->is_over) walk.next = std::chrono::steady_clock::now() + kBetweenWalks;
              (step->is_over ? walk_ended : walks_on) = true;
            }
            events_left = (events_left || walk_ended) && event_age > Millis{0};
            std::uint64_t old_events = 0;
            if (events_left && !walks_on) {
              const auto gone = store.delete_old_events(event_age, kBatch);
              TRY(gone);
              old_events = *gone;
              events_left = old_events == kBatch;
            }
            if (deleted + old_events > 0) log.info("retention.deleted", {{"submissions", deleted}, {"events", old_events}});
            return {};
          }};
}

PeriodicTask expiry(MaintenanceStore& store, WaitingStore& waiting, std::string actor, Metrics& metrics) {
  constexpr std::size_t kAtOnce = 200;
  const auto is_more = std::make_shared<bool>(false);
  return {.name = "expiry",
          .every = Seconds{1},
          .run = [&store, &waiting, &metrics, actor = std::move(actor), is_more]() -> Result<void> {
            *is_more = false;
            const auto shards = store.expired_shards();
            TRY(shards);
            for (const auto shard : *shards) {
              const auto ended =
                  waiting.end_expired(shard, kAtOnce, [&](const WaitingDelivery& one, const Contract& contract, Timestamp now) {
                    return settlement_of_expired(one, contract, now, actor);
                  });
              TRY(ended);
              for (const auto& one : *ended)
                if (!one.submission_state.empty()) metrics.submission(one.submission_state);
              *is_more |= ended->size() == kAtOnce;
            }
            return {};
          },
          .is_wanted = [is_more] { return *is_more; },
          .is_bounded = true};
}

PeriodicTask listing(MaintenanceStore& store) {
  const auto is_more = std::make_shared<bool>(false);
  return {.name = "listing",
          .every = Seconds{1},
          .run = [&store, is_more]() -> Result<void> {
            *is_more = false;
            const auto listed = store.list_intents();
            TRY(listed);
            *is_more = *listed;
            return {};
          },
          .is_wanted = [is_more] { return *is_more; },
          .is_bounded = true};
}

// Half of the age apart, so that none is older than one and a half. What one run leaves follows at once, after the other tasks.
PeriodicTask orphaned_events(NotifyStore& store, Millis age, Log& log) {
  struct Walk {
    OrphanTurns turns{};
    bool goes_on = false;
  };
  const auto walk = std::make_shared<Walk>();
  return {.name = "orphaned_events",
          .every = std::max(age / 2, Millis{50}),
          .run = [&store, &log, age, walk]() -> Result<void> {
            if (!std::exchange(walk->goes_on, false)) walk->turns = {};
            const auto adopted = store.adopt_orphans(age / 2, walk->turns);
            TRY(adopted);
            walk->goes_on = adopted->more;
            if (adopted->events > 0) log.info("notify.orphans_adopted", {{"events", adopted->events}});
            for (const auto& failure : adopted->failures)
              log.error("notify.orphan_refused",
                        {{"error", failure}, {"remedy", "it is tried again; mend or delete its row in alert_events"}});
            return {};
          },
          .is_wanted = [walk] { return walk->goes_on; },
          .is_bounded = true};
}

PeriodicTask old_secrets(NotifyStore& store) {
  return {"old_secrets", std::chrono::minutes{10}, [&store] { return store.remind_of_old_secrets(); }};
}

}  // namespace waybill
