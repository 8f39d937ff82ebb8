// The chores that every host has.
#include "upkeep/chores.h"

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

Chore partitions(UpkeepStore& store) {
  return {"partitions", std::chrono::hours(1), [&store] { return store.make_partitions(); }};
}

}  // namespace waybill
