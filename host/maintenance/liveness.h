// This host's life: the session that shows it, the id that it has, and the leases of what it holds.
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
#include "store/pg_stores.h"
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
  std::function<void()> present;            // this host has an id and had none, or another: it may claim
  std::function<void()> rescued;            // another host took over what this one held; it goes on under a new id
  std::function<OpenClaims()> open_claims;  // what this host still holds
  // Told once, when the schema has become newer than this program may use. The liveness is kept, so that what is out can be
  // settled.
  std::function<void(const std::string& why)> outdated{};
};

// A thread of its own, which does nothing else. host() is safe from any thread.
class Liveness {
 public:
  Liveness(HostLiveness& liveness, const Clock& clock, LivenessSettings settings, LivenessHooks hooks, Log& log,
           Metrics& metrics);
  ~Liveness() { stop(); }

  void start();
  std::optional<HostId> host() const;  // none while this host has no liveness
  bool is_outdated() const { return outdated_; }
  void stop();  // an orderly end: it is not registered any more

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
  HostId last_;  // the id that it had last
  Clock::Monotonic renew_at_;
  std::set<std::pair<Shard, ClaimToken>> held_;  // when leases were looked at last

  std::atomic<std::int64_t> host_{0};  // 0: none
  std::atomic<bool> outdated_{false};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: it uses all above
};

}  // namespace waybill
