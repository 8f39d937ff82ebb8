// Jobs that came back while somebody held their rows locked: an open transaction of a person, a dump, a script.
#pragma once

#include <chrono>
#include <optional>
#include <unordered_set>
#include <vector>

#include "domain/job.h"
#include "store/settle_store.h"
#include "telemetry/log.h"

namespace waybill {

// One thread at a time.
class Aside {
 public:
  using Clock = std::chrono::steady_clock;
  struct Item {
    Finished finished;
    std::optional<Cooldown> outage;  // of its target, as it was when the job came back
    bool again;                      // an earlier call's answer was lost, so it may be written already
  };

  Aside(SettleStore& store, Log& log) : store_(store), log_(log) {}

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  // Ask for the locks of others that come now before they are written: more of them may be locked, and each would cost a lock
  // timeout. True for a while after one was found.
  bool expects_more() const { return !empty() && Clock::now() < more_until_; }
  Clock::time_point next_look() const { return next_look_; }

  void add(std::vector<Item> locked);
  // Those that nobody holds locked any more, in the order in which they came.
  std::vector<Item> take_free();
  std::vector<Item> take_all();
  // Of these. None when the database does not say.
  std::unordered_set<DeliveryId> locked(Shard shard, const std::vector<DeliveryId>& deliveries);

 private:
  SettleStore& store_;
  Log& log_;
  std::vector<Item> items_;
  std::size_t total_ = 0;  // since there was none the last time
  Clock::time_point next_look_{}, more_until_{};
};

}  // namespace waybill
