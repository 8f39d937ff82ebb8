// What plugins do against the rules: counted each time, logged less and less often.
#include "execute/plugin_violations.h"

#include <bit>

namespace waybill {

void PluginViolations::record(std::string_view action_type, std::string_view how, std::uint64_t call, std::string_view detail) {
  metrics_.plugin_violation(action_type, how);
  std::uint64_t count;
  {
    const std::lock_guard lock(mutex_);
    count = ++counts_[std::string(action_type) + "/" + std::string(how)];
  }
  if (!std::has_single_bit(count)) return;
  log_.warn("plugin.violation",
            {{"action_type", action_type}, {"how", how}, {"call", call}, {"count", count}, {"detail", detail}});
}

}  // namespace waybill
