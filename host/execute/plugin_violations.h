// Plugin violations: counts each, and logs them ever less often, so that a bad plugin cannot flood the log.
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

  // `how`: a word such as "completed_twice_or_late". Logs the 1st, 2nd, 4th, 8th, ... occurrence per action type and word.
  void record(std::string_view action_type, std::string_view how, std::uint64_t call, std::string_view detail = {});

 private:
  Log& log_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace waybill
