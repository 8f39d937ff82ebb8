// Looks, tells what is not empty, sets the gauges.
#include "maintenance/monitor.h"

#include <memory>
#include <set>

namespace waybill {
namespace {

std::uint64_t count_of(const TypeState& state, const char* status) {
  const auto found = state.by_status.find(status);
  return found == state.by_status.end() ? 0 : found->second;
}

class Monitor {
 public:
  Monitor(MonitorStore& store, Log& log, Metrics& metrics) : store_(store), log_(log), metrics_(metrics) {}

  Result<void> run() {
    auto states = store_.types();
    if (!states) {  // not an error of the task, which would be tried again at once: what took long is done less often
      log_.warn("queue.state_unknown", {{"error", states.error().what}});
      return {};
    }
    for (const auto& type : known_) states->by_type.try_emplace(type);  // a gauge that was set is set until the end
    for (const auto& [type, state] : states->by_type) {
      known_.insert(type);
      metrics_.type_depth(type, state.depth());
      metrics_.failure_rate(type, state.failure_rate());
      if (state.depth() > 0 || filled_.contains(type)) tell(type, state, states->estimated);
      if (state.depth() > 0)
        filled_.insert(type);
      else
        filled_.erase(type);
    }
    return {};
  }

 private:
  void tell(const std::string& type, const TypeState& state, bool estimated) {
    const double oldest = state.oldest_due ? std::chrono::duration<double>(*state.oldest_due).count() : 0;
    log_.info("queue.state", {{"type", type},
                              {"due", count_of(state, "due")},
                              {"waiting", count_of(state, "waiting") + count_of(state, "open")},
                              {"claimed", count_of(state, "claimed")},
                              {"oldest_due_seconds", oldest},
                              {"failure_rate", state.failure_rate()},
                              {"estimated", estimated ? "true" : "false"}});
  }

  MonitorStore& store_;
  Log& log_;
  Metrics& metrics_;
  std::set<std::string> known_, filled_;  // action types
};

}  // namespace

PeriodicTask monitor(MonitorStore& store, Millis every, Log& log, Metrics& metrics) {
  const auto one = std::make_shared<Monitor>(store, log, metrics);
  return {.name = "monitor", .every = every, .run = [one] { return one->run(); }};
}

PeriodicTask standing_counts(MonitorStore& store, Log& log, Metrics& metrics) {
  const auto known = std::make_shared<std::set<std::pair<std::string, std::string>>>();
  return {"standing_counts", Seconds{10}, [&store, &log, &metrics, known]() -> Result<void> {
            auto standing = store.standing();
            if (!standing) {  // no error of the task, as above
              log.warn("queue.standing_unknown", {{"error", standing.error().what}});
              return {};
            }
            metrics.dead_letters(standing->dead_letters);
            metrics.cooling_targets(standing->cooling_targets);
            metrics.paused_targets(standing->paused_targets);
            for (const auto& one : *known) standing->unfinished.try_emplace(one);  // a gauge that was set is set until the end
            for (const auto& [state, count] : standing->unfinished) {
              known->insert(state);
              metrics.unfinished(state.first, state.second, count);
            }
            return {};
          }};
}

PeriodicTask objective(MonitorStore& store, Millis promised, Log& log, Metrics& metrics) {
  metrics.objective().promise(std::chrono::duration<double>(promised).count());
  return {"objective", Seconds{10}, [&store, promised, &log, &metrics]() -> Result<void> {
            auto& told = metrics.objective();
            if (const auto unnamed = told.unnamed(); !unnamed.empty()) {
              const auto names = store.names_of(unnamed);
              TRY(names);
              for (const auto& [org, name] : *names) told.name(org, name);
            }
            const auto overdue = store.overdue(promised, kMaxObjectives);
            if (!overdue) {  // no error of the task, as above
              log.warn("objective.unknown", {{"error", overdue.error().what}});
              return {};
            }
            std::vector<Objective::Overdue> all;
            for (const auto& one : *overdue) all.push_back({one.organisation, one.target, one.count});
            told.overdue(all);
            return {};
          }};
}

}  // namespace waybill
