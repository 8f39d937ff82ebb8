// Puts back the work of dead hosts, and claims whose lease was not renewed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "maintenance/crashes.h"
#include "maintenance/dead_hosts.h"
#include "settle/settlement_writer.h"
#include "store/queue/queue_store.h"
#include "store/queue/rescue_store.h"
#include "store/queue/settle_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "tracing/tracer.h"

namespace waybill {

struct MaintenanceSettings {
  int shards = 1;
  std::string actor;
  Millis takeover{250};  // between two looks
  Millis lease{60'000};
  Millis objective{60'000};    // deliveries are to be accepted within this
  Crashes* crashes = nullptr;  // finds the delivery to blame for a death; null: none is ever blamed
  Tracer* tracer = nullptr;    // null: there are no spans
};

// Has its own thread and stores, which nothing else uses.
class Rescuer {
 public:
  // `self` returns this host's id, or none while it holds no liveness lock: then it rescues nothing. `wake` is called when rows
  // were put back into the queue.
  Rescuer(RescueStore& store, QueueStore& queue, SettleStore& settle, const Clock& clock, MaintenanceSettings settings,
          std::function<std::optional<HostId>()> self, std::function<void()> wake, Log& log, Metrics& metrics);
  ~Rescuer() { stop(); }

  void start();
  // [any thread] The next look examines all claims, not only those whose time has come.
  void look_everywhere() { everywhere_ = true; }
  void stop();

 private:
  void run(std::stop_token stop);
  void look();
  Result<void> look_at_hosts(HostId self);
  Result<void> rescue(const HostObservation& host);
  Result<void> look_at_claims();
  using FindOrphanedClaims = std::function<Result<OrphanedClaims>(Shard)>;
  Result<std::size_t> take_back(Shard shard, const FindOrphanedClaims& find);
  Result<std::unordered_set<DeliveryId>> locked_of(Shard shard, std::span<const OrphanedDelivery> claims);
  // Returns the deliveries that still had their token.
  Result<std::vector<DeliveryId>> write(Shard shard, std::vector<Settlement>& settlements,
                                        const std::vector<const OrphanedDelivery*>& claims);
  Blame blame_of(const OrphanedDelivery& claim) const;
  void report_lost(const OrphanedDelivery& claim, const Settlement& settlement, Timestamp taken_back);
  void report_end(const OrphanedDelivery& claim, const Settlement& settlement);
  Result<const RouteContract*> contract_of(RouteId route);

  RescueStore& store_;
  QueueStore& queue_;
  SettleStore& settle_;
  SettlementWriter writer_;
  const Clock& clock_;
  const MaintenanceSettings settings_;
  const std::function<std::optional<HostId>()> self_;
  const std::function<void()> wake_;
  Log& log_;
  Metrics& metrics_;

  // The thread's own:
  HostWatch hosts_;
  ClaimWatch claims_;
  std::unordered_map<RouteId, RouteContract> contracts_;
  Clock::Monotonic not_before_{}, claims_due_{};
  bool was_up_ = false;

  std::atomic<bool> everywhere_{false};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: it uses all above
};

}  // namespace waybill
