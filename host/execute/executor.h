// Executes claimed jobs: hands each to its action type's sender and returns it exactly once, whatever the plugin does.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "domain/job.h"
#include "execute/hang.h"
#include "execute/sender.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill {

struct ExecutorSettings {
  Millis attempt_timeout{10'000};
  Millis grace{1'000};        // for a plugin that stays silent past its deadline
  Millis stuck_after{5'000};  // a sender that is inside one plugin call for this long, past deadline + grace, is abandoned
  HangLimits hangs{};
  // Of one attempt, instead of attempt_timeout; none: that. Null: it is for all.
  std::function<std::optional<Millis>(const Contract& contract)> time_limit{};
};

// Safe from any thread. Calls the sink with batches of finished jobs, from its own threads.
class Executor {
 public:
  Executor(SenderFactory& factory, const Clock& clock, ExecutorSettings settings, Log& log, Metrics& metrics);
  ~Executor();  // stops without grace, if stop() was not called

  void start(FinishedSink sink, HangSink on_hang = nullptr);  // once, before the first job

  // Takes jobs over. A job whose contract has expired comes back `expired`. A job whose lease has ended, or whose action type
  // cannot run, comes back `unattempted`, now or when its turn comes. All others are attempted, with a deadline of
  // attempt_timeout (or time_limit) or what contract and lease leave, if less. They come back without payload and context, which
  // are in the database.
  void execute(std::vector<Job> jobs);

  enum class State { ready, missing, stuck };  // missing: no plugin, or its create failed; stuck: it pauses after hangs
  State state(std::string_view action_type) const;
  // Why its last create gave no sender; "" if it gave one.
  std::string refusal(std::string_view action_type) const;
  // How many calls of this action type may be open (for a blocking plugin: its number of threads).
  std::size_t concurrency(std::string_view action_type) const;
  std::size_t in_flight() const;

  // The factory makes other senders of this action type from now on. New work goes to them as soon as there is one; what is open
  // goes on where it is. Nothing if the type has had no work yet.
  void renew(std::string_view action_type);
  bool wait_renewed(std::string_view action_type, Millis at_most);  // true once new work goes to them
  // Senders of before a renewal that still have open calls.
  std::size_t retiring(std::string_view action_type) const;

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
