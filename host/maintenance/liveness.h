// Keeps this host alive in the database: its liveness session, its id, and the leases of its claims. Which other hosts are dead
// is decided in dead_hosts.cpp.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "store/queue/host_liveness.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill {

using OpenClaims = std::map<Shard, std::vector<ClaimToken>>;

struct LivenessSettings {
  std::string name;
  Millis every{250};
  Millis lease{60'000};
};

struct LivenessHooks {
  std::function<void()> present;            // this host got an id, or another one: it may claim
  std::function<void()> rescued;            // another host took over its claims; it continues under a new id
  std::function<OpenClaims()> open_claims;  // the claims that it still holds
  // Called once, when the schema has become too new for this program. Liveness continues, so that work in flight can be settled.
  std::function<void(const std::string& why)> outdated{};
  std::function<void(Timestamp now, Clock::Monotonic at)> database_time{};  // several times a second
};

// Has its own thread, which does nothing else. host() is safe from any thread.
class Liveness {
 public:
  Liveness(HostLiveness& liveness, const Clock& clock, LivenessSettings settings, LivenessHooks hooks, Log& log,
           Metrics& metrics);
  ~Liveness() { stop(); }

  void start();
  std::optional<HostId> host() const;  // none while this host holds no liveness lock
  bool is_outdated() const { return outdated_; }
  void stop();  // orderly: unregisters the host

 private:
  void run(std::stop_token stop);
  void keep();
  void look_at_schema();
  void renew_leases();

  HostLiveness& liveness_;
  const Clock& clock_;
  const LivenessSettings settings_;
  const LivenessHooks hooks_;
  Log& log_;
  Metrics& metrics_;

  // The thread's own:
  HostId last_;  // the latest id
  Clock::Monotonic renew_at_;
  std::set<std::pair<Shard, ClaimToken>> held_;  // at the last renewal

  std::atomic<std::int64_t> host_{0};  // 0: none
  std::atomic<bool> outdated_{false};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: it uses all above
};

}  // namespace waybill
