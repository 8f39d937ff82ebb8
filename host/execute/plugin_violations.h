// What plugins do against the rules: counted each time, logged less and less often, so that a bad plugin cannot flood the log.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill {

// Safe from any thread.
class PluginViolations {
 public:
  PluginViolations(Log& log, Metrics& metrics) : log_(log), metrics_(metrics) {}

  // `how` is a word such as "completed_twice_or_late". Logged on the 1st, 2nd, 4th, 8th, ... time per action type and word.
  void record(std::string_view action_type, std::string_view how, std::uint64_t call, std::string_view detail = {});

 private:
  Log& log_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace waybill
