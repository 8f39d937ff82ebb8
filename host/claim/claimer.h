// The claimer's thread: searches the queue now and then, claims what is next, hands it on, and sleeps until something changes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/pulse.h"
#include "domain/job.h"
#include "limits/claim_ledger.h"
#include "limits/host_reach.h"
#include "limits/planner.h"
#include "limits/work_signal.h"
#include "store/queue/queue_store.h"
#include "telemetry/log.h"

namespace waybill {

struct ClaimerSettings {
  int shards = 1;
  std::size_t batch = 1000;
  Millis lease{60'000};
  Millis poll{500};      // between two walks over the queue, and two reads of outages; longer if these take long
  Millis probe{12'000};  // how long a probe may take: an attempt and its grace
};

// claimer.cpp describes a round. The public functions are safe from any thread.
class Claimer {
 public:
  // `host` returns the id to claim with, or none while this host must not claim (not registered, or draining).
  Claimer(QueueStore& store, Planner& planner, ClaimLedger& ledger, WorkSignal& signal, HostReach& reach, const Clock& clock,
          ClaimerSettings settings, std::function<std::optional<HostId>()> host, JobSink sink, Log& log);
  ~Claimer();

  void start();
  void stop();
  const Pulse& pulse() const { return pulse_; }  // after this returns no claim begins, and all claimed jobs have been handed on
  Clock::Monotonic looked_at() const { return Clock::Monotonic(Clock::Monotonic::duration(looked_at_.load())); }  // at the queue

 private:
  struct Look {  // a periodic read of the database; its cost bounds its frequency, unless only the last one was slow
    Clock::Monotonic due{};
    Clock::Monotonic::duration last{};
    void done(Clock::Monotonic begun, Clock::Monotonic ended, Millis poll);
  };

  void run(std::stop_token stop);
  Result<void> round(HostId host);
  Result<void> give_back_unconfirmed();
  void return_unconfirmed();  // the same, and logs what fails
  Result<void> look(HostId host);
  Result<void> look_at_cooldowns(HostId host);
  Result<void> learn(const std::vector<RouteId>& routes);
  void serve_channels(HostId host, Shard shard, std::vector<RouteShare>& shares);
  void leave_channels(HostId host, Clock::Monotonic::duration idle_for);
  void hand_over_channels(const std::vector<HostFinding>& own);
  bool is_handed_over(OrgId org) const;
  void begin_probes(HostId host, Shard shard, std::vector<RouteShare>& shares);
  void take_permits(Shard shard, std::vector<RouteShare>& shares);
  Result<void> claim(HostId host, Shard shard, const std::vector<RouteShare>& shares, Clock::Monotonic asked_at,
                     std::size_t& bytes);
  void release_idle_probes(HostId host);
  void forget_done();
  Clock::Monotonic::duration until_next_round() const;

  QueueStore& store_;
  Planner& planner_;
  ClaimLedger& ledger_;
  WorkSignal& signal_;
  HostReach& reach_;
  const Clock& clock_;
  const ClaimerSettings settings_;
  const std::function<std::optional<HostId>()> host_;
  const JobSink sink_;
  Log& log_;

  // The thread's own:
  std::map<Shard, Look> walks_;
  Look cooldowns_, weights_;
  std::vector<Cooldown> idle_probes_;  // reserved in this round, and there was nothing to send
  struct Channels {
    HostId host;                             // whose organisations these are
    std::map<OrgId, Clock::Monotonic> used;  // since when each has not been needed
    Clock::Monotonic left_at{};
    std::map<OrgId, Clock::Monotonic> not_before{};                  // left to other hosts until then
    std::map<std::pair<OrgId, std::string>, Timestamp> unreached{};  // findings for which that was done
  } channels_;
  Clock::Monotonic forgot_at_{};
  std::atomic<Clock::Monotonic::rep> looked_at_;
  bool again_ = false;  // the last round claimed something, learnt of work, or had planned what was denied

  Pulse pulse_{"claimer"};
  std::jthread thread_;  // last: it uses all above
};

}  // namespace waybill
