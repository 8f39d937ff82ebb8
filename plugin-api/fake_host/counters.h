// What a plugin counts on a fake host: waybill.counter/1.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "waybill/plugin.h"

namespace waybill::fake_host {

// [any]
class Counters {
 public:
  // As waybill/services/counter.h has it.
  std::int32_t add(wb_str name, std::uint64_t by);
  std::map<std::string, std::uint64_t> counts() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> counts_;
};

extern const wb_counter_service kCounters;  // the table of it

}  // namespace waybill::fake_host
