// Decides and writes what finished jobs lead to: one thread, one transaction per batch.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/pulse.h"
#include "domain/decide.h"
#include "domain/job.h"
#include "domain/retry_timing.h"
#include "settle/aside.h"
#include "settle/settlement_writer.h"
#include "settle/target_outages.h"
#include "store/queue/settle_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "tracing/tracer.h"

namespace waybill {

struct SettlerSettings {
  std::string actor;                                    // the host's name, for the audit
  std::map<std::string, RetryTiming> retry;             // by action type; "default" is always there
  Millis cooldown{30'000};                              // the longest cooldown; 0: only what receivers ask for
  Millis outage{std::chrono::hours(24)};                // while a target's outage is shorter, attempts do not count
  Millis failure_period{3'600'000};                     // the period over which failures are summed up
  Millis channel_patience{std::chrono::hours(5 * 24)};  // a channel that has only failed for so long is disabled
  Millis kept_notifications{0};                         // what waits for a disabled channel ends at this age; 0: never
  Tracer* tracer = nullptr;                             // null: no spans
  Millis objective{60'000};                             // deliveries are to be accepted within this
  std::size_t batch = 1000;
  Millis gather{5};  // how long a small batch waits for more
};

// take() is safe from any thread. While the database is away, batches are kept and retried. Jobs whose rows are locked are set
// aside until the rows are free and delay no others.
class Settler {
 public:
  // A written batch, in order. `moved`: submissions whose attempt ended. `unwritten`: claims with deliveries that could not be
  // written and stay claimed. Jobs set aside are reported once they are written.
  struct WriteResult {
    const std::vector<Finished>& batch;
    std::vector<SubmissionId> moved;
    std::vector<ClaimToken> unwritten;
    bool outage_began = false;  // of any target
  };
  // `all_out` returns how many jobs are out, including those taken here: when all of them are here, a batch need not wait for
  // more.
  Settler(SettleStore& store, Answers& answers, const Clock& clock, SettlerSettings settings,
          std::function<std::size_t()> all_out, std::function<void(const WriteResult&)> written, Log& log, Metrics& metrics);
  ~Settler();

  void start();
  void take(std::vector<Finished> finished);
  // Writes what is left and ends the thread; gives up if the database stays away for `patience`.
  void stop(Millis patience);
  const Pulse& pulse() const { return pulse_; }

 private:
  void run(std::stop_token stop);
  std::vector<Finished> take_batch(std::stop_token stop);
  bool give_up(std::stop_token stop);
  using Part = std::vector<const Finished*>;  // of a batch
  void write(std::stop_token stop, std::vector<Finished> batch, bool again = false);
  void write_part(std::stop_token stop, Shard shard, Part part, bool again);
  Result<void> write_shard(Shard shard, Part& part, bool again);
  static std::vector<ComposeRow> compose_rows(const Part& part);
  std::vector<Settlement> settlements_of(const Part& part);
  bool take_locked(Shard shard, Part& part, bool again);
  void set_aside(std::vector<Finished>& batch);
  void write_aside(std::stop_token stop);
  void abandon_aside();
  void leave_to_lease(const Part& part);
  void report(const std::vector<Finished>& batch);
  void write_failures(const std::vector<Finished>& batch);
  void write_channel_results(const std::vector<Finished>& batch);
  struct AttemptRun;
  void count(const Finished& finished, const Settlement& settlement, AttemptRun& run);
  const RetryTiming& timing_of(const Finished& finished) const;

  SettleStore& store_;
  const Clock& clock_;
  const SettlerSettings settings_;
  const std::function<std::size_t()> all_out_;
  const std::function<void(const WriteResult&)> written_;
  Log& log_;
  Metrics& metrics_;
  // The thread's own:
  std::mt19937_64 random_{std::random_device{}()};
  std::vector<ClaimToken> unwritten_;                 // of the batch that is being written
  std::unordered_map<const Finished*, bool> locked_;  // jobs of the batch with locked rows; see write_shard() for the flag
  TargetOutages outages_;
  SettlementWriter writer_;
  Aside aside_;

  std::mutex mutex_;  // for all below
  std::condition_variable_any changed_;
  std::vector<Finished> waiting_;
  Clock::Monotonic patient_until_ = Clock::Monotonic::max();
  Pulse pulse_{"settler"};
  std::jthread thread_;  // last: it uses all above
};

}  // namespace waybill
