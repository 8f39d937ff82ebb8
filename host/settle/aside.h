// Finished jobs whose rows another session holds locked (a person's open transaction, a dump, a script), set aside until free.
#pragma once

#include <chrono>
#include <optional>
#include <unordered_set>
#include <vector>

#include "domain/job.h"
#include "store/queue/settle_store.h"
#include "telemetry/log.h"

namespace waybill {

// One thread at a time.
class Aside {
 public:
  using Clock = std::chrono::steady_clock;
  struct Item {
    Finished finished;
    std::optional<Cooldown> outage;  // of its target, as it was when the job came back
    bool again;                      // an earlier call's answer was lost, so it may have been written
  };

  Aside(SettleStore& store, Log& log) : store_(store), log_(log) {}

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  // True for a while after a locked row was found: check the locks of further jobs before writing them, because each locked one
  // would cost a lock timeout.
  bool expects_more() const { return !empty() && Clock::now() < more_until_; }
  Clock::time_point next_look() const { return next_look_; }

  void add(std::vector<Item> locked);
  // Those whose rows are free again, in the order in which they came.
  std::vector<Item> take_free();
  std::vector<Item> take_all();
  // Those of `deliveries` whose rows are locked. Empty if the database gives no answer.
  std::unordered_set<DeliveryId> locked(Shard shard, const std::vector<DeliveryId>& deliveries);

 private:
  SettleStore& store_;
  Log& log_;
  std::vector<Item> items_;
  std::size_t total_ = 0;  // since it was last empty
  Clock::time_point next_look_{}, more_until_{};
};

}  // namespace waybill
