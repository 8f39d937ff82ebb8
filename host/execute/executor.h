// Executes claimed jobs: hands each to its action type's sender and returns it exactly once, whatever the plugin does.
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
  Millis stuck_after{5'000};      // a sender that is inside one plugin call for this long, past deadline + grace, is abandoned
  std::size_t max_abandoned = 3;  // abandoned senders after which an action type is switched off
};

// Safe from any thread. Calls the sink with batches of finished jobs, from its own threads.
class Executor {
 public:
  Executor(SenderFactory& factory, const Clock& clock, ExecutorSettings settings, Log& log, Metrics& metrics);
  ~Executor();  // stops without grace, if stop() was not called

  void start(FinishedSink sink);  // once, before the first job

  // Takes jobs over. A job whose contract has expired comes back `expired`. A job whose lease has ended, or whose action type
  // cannot run, comes back `unattempted`, now or when its turn comes. All others are attempted, with a deadline of
  // attempt_timeout or what contract and lease leave, if less. They come back without payload and context, which are in the
  // database.
  void execute(std::vector<Job> jobs);

  enum class State { ready, missing, stuck };  // missing: no plugin, or its create failed; stuck: switched off
  State state(std::string_view action_type) const;
  // How many calls of this action type may be open (for a blocking plugin: its number of threads).
  std::size_t concurrency(std::string_view action_type) const;
  std::size_t in_flight() const;

  // For when another host took over this host's claims: jobs that have not begun come back `unattempted`.
  void withdraw();

  // Waits until nothing is in flight, at most `grace`; then cancels the rest and decides it as transient, maybe sent. True if no
  // thread is left inside a plugin, so that the process may end normally.
  bool stop(Millis grace);

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace waybill
