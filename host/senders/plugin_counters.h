// What the plugins of this host count themselves, by action type: few names, which become metrics.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "telemetry/metrics.h"

namespace waybill {

// Safe from any thread.
class PluginCounters {
 public:
  explicit PluginCounters(Metrics& metrics) : metrics_(metrics) {}
  // Returns WB_COUNTER_OK, or why nothing was counted.
  std::int32_t add(std::string_view action_type, std::string_view name, std::uint64_t by);

 private:
  Metrics& metrics_;
  std::mutex mutex_;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> names_;  // by action type
};

}  // namespace waybill
