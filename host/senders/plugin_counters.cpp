// The service waybill.counter/1. No exception leaves it.
#include "senders/plugin_counters.h"

#include <waybill/plugin.h>

#include <algorithm>

#include "plugin_protocol/plugin_text.h"
#include "senders/host_face.h"
#include "senders/plugin_sender.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxCounterName = 64;

bool is_counter_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxCounterName && name.front() >= 'a' && name.front() <= 'z' &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

std::int32_t PluginCounters::add(std::string_view action_type, std::string_view name, std::uint64_t by) {
  if (!is_counter_name(name)) return WB_COUNTER_BAD_NAME;
  {
    const std::lock_guard lock(mutex_);
    auto type = names_.find(action_type);
    if (type == names_.end()) type = names_.try_emplace(std::string(action_type)).first;
    auto& names = type->second;
    if (!names.contains(name)) {
      if (names.size() >= WB_MOST_COUNTERS) return WB_COUNTER_TOO_MANY;
      names.emplace(name);
    }
  }
  metrics_.plugin_count(action_type, name, by);
  return WB_COUNTER_OK;
}

std::int32_t HostFace::count(const wb_host* host, wb_str name, std::uint64_t by) noexcept {
  try {
    const auto& parts = sender_of(host).parts();
    return parts.counters == nullptr ? WB_COUNTER_OK : parts.counters->add(parts.type.name, view_of(name), by);
  } catch (...) {  // out of memory: the plugin goes on
    return WB_COUNTER_TOO_MANY;
  }
}

}  // namespace waybill
