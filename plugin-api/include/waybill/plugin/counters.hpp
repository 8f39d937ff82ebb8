// Counters of a plugin's own, shown in the host's metrics (since minor 4).
#pragma once

#include <cstdint>
#include <string_view>

#include "waybill/plugin/outcome.hpp"

namespace waybill::plugin {

// [any] A host without the service counts nothing.
class Counters {
 public:
  Counters(const wb_host* host, const wb_counter_service* service) noexcept : host_(host), service_(service) {}

  // False: not counted, because the name is not [a-z][a-z0-9_]* of at most 64 bytes, or there are WB_MOST_COUNTERS others.
  bool add(std::string_view name, std::uint64_t by = 1) const noexcept {
    return service_ != nullptr && service_->add(host_, str(name), by) == WB_COUNTER_OK;
  }

 private:
  const wb_host* host_;
  const wb_counter_service* service_;
};

}  // namespace waybill::plugin
