// What keeps the road open: this host's presence, taking over from dead hosts, and chores.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/clock.h"
#include "core/contract.h"
#include "store/pg_stores.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "upkeep/chores.h"
#include "upkeep/crashes.h"

namespace waybill {

struct UpkeepSettings {
  int shards = 1;
  std::string actor;
  Millis takeover{250};
  Crashes* crashes = nullptr;  // who is to blame for deaths; null: nobody ever is
};

// Two threads of its own. host() and is_up() are safe from any thread.
class Upkeep {
 public:
  // `wake` is called when rows were put back into the queue. The stores beside the presence are the sweeping thread's.
  Upkeep(Presence& presence, UpkeepStore& store, QueueStore& queue, SettleStore& settle, std::vector<Chore> chores,
         const Clock& clock, UpkeepSettings settings, std::function<void()> wake, Log& log, Metrics& metrics);
  ~Upkeep();

  std::optional<HostId> host() const;  // none while this host has no presence
  bool is_up() const { return host().has_value(); }
  void stop();

 private:
  void keep_presence(std::stop_token stop);
  void sweep(std::stop_token stop);
  Result<void> sweep_once(HostId self);
  Result<std::size_t> take_back(std::optional<HostId> dead);
  // Answers which claims still held.
  Result<std::vector<DeliveryId>> write(Shard shard, const std::vector<Settlement>& settlements);
  Blame blame_of(const LostClaim& claim) const;
  void tell_lost(const LostClaim& claim, const Settlement& settlement);
  void tell_end(const LostClaim& claim, const Settlement& settlement);
  void do_chores();
  Result<const RouteContract*> contract_of(RouteId route);
  bool pause(std::stop_token stop, Millis length);

  Presence& presence_;
  UpkeepStore& store_;
  QueueStore& queue_;
  SettleStore& settle_;
  const Clock& clock_;
  const UpkeepSettings settings_;
  const std::function<void()> wake_;
  Log& log_;
  Metrics& metrics_;

  // The sweeping thread's own:
  std::unordered_map<RouteId, RouteContract> contracts_;
  struct DueChore {
    Chore chore;
    Clock::Monotonic due{};
  };
  std::vector<DueChore> chores_;
  Clock::Monotonic not_before_{};
  bool was_up_ = false;

  std::atomic<std::int64_t> host_{0};  // 0: none
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread presence_thread_, sweep_thread_;  // last: they use all above
};

}  // namespace waybill
