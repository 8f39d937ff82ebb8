// Processes of one plugin, started before they are needed: one is always ready, and after deaths the next one takes its time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "plugin_process/greeting.h"

namespace waybill::plugin_process {

// From the fourth death in a row on the next process begins this much later, each time twice as much.
struct RestartDelays {
  Millis first{100};
  Millis longest{30'000};
  Millis forgotten{60'000};  // without a death
  Millis greeting{30'000};   // a process that has not said hello by then is killed
};

// Safe from any thread.
class ReadyProcesses {
 public:
  explicit ReadyProcesses(ProcessSpec spec, RestartDelays delays = {});
  ~ReadyProcesses();
  ReadyProcesses(const ReadyProcesses&) = delete;
  ReadyProcesses& operator=(const ReadyProcesses&) = delete;

  // One that is ready. Error::unavailable if there is none within this time: `what` says what it waits for.
  Result<ReadyProcess> take(Millis wait);
  void died();                 // one that was taken
  std::size_t deaths() const;  // all

 private:
  void run(const std::stop_token& stop);
  Millis delay() const;  // with mutex_ held
  void note_death();     // with mutex_ held

  using Steady = std::chrono::steady_clock;
  const ProcessSpec spec_;
  const RestartDelays delays_;
  mutable std::mutex mutex_;  // for all below
  std::condition_variable_any changed_;
  std::optional<ReadyProcess> ready_;
  std::string refusal_;  // why the last start failed; "" if it did not
  std::size_t in_a_row_ = 0, deaths_ = 0;
  Steady::time_point last_death_{};
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace waybill::plugin_process
