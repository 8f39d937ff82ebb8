// Carries out claimed jobs: each is handed to its action type's sender and comes back exactly once, whatever the plugin does.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "domain/job.h"
#include "execute/sender.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill {

struct ExecutorSettings {
  Millis attempt_timeout{10'000};
  Millis grace{1'000};            // for a plugin that stays silent past its deadline
  Millis stuck_after{5'000};      // a sender inside one call of the plugin for so long, and past deadline + grace, is given up
  std::size_t max_abandoned = 3;  // senders of one action type given up before the action type is switched off
};

// Safe from any thread. Finished jobs go to the sink in batches, from threads of this.
class Executor {
 public:
  Executor(SenderFactory& factory, const Clock& clock, ExecutorSettings settings, Log& log, Metrics& metrics);
  ~Executor();  // stops with no grace if nobody has

  void start(FinishedSink sink);  // once, before the first job

  // Takes jobs over. One whose contract is over comes back `expired`; one whose lease is over, or whose action type cannot run,
  // comes back `unattempted`, now or when its turn would come. The rest is attempted, each with a deadline of
  // min(attempt_timeout, what its contract and its lease leave), and comes back without its payload and context, which are in the
  // database.
  void execute(std::vector<Job> jobs);

  enum class State { ready, missing, stuck };  // missing: no plugin, or it could not be created; stuck: switched off
  State state(std::string_view action_type) const;
  // How many calls of this action type may be open at one time (a blocking plugin has as many as it has threads).
  std::size_t concurrency(std::string_view action_type) const;
  std::size_t in_flight() const;

  // Another host has taken this host's claims over: whatever has not begun comes back `unattempted`.
  void withdraw();

  // Waits until nothing is in flight, at most `grace`; what is left then is cancelled, and decided as transient, maybe sent.
  // True when no thread is left inside a plugin, so that the process may end in the ordinary way.
  bool stop(Millis grace);

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace waybill
