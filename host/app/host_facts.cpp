// What a host says of itself in the database about once a second, for `waybill explain` and `waybill doctor`:
// host/cli/living_hosts.cpp reads it.
#include <nlohmann/json.hpp>

#include "app/host.h"
#include "base/version.h"

namespace waybill {

// A new fact is a line here, and one where it is read; readers of other versions pass over what they do not know.
Result<void> Host::tell_facts() {
  const auto host = maintenance_.host();
  if (!host) return {};
  const auto looked_ago = std::chrono::duration_cast<Millis>(clock_.now() - claimer_.looked_at());
  nlohmann::json types = nlohmann::json::array(), plugins = nlohmann::json::object(), off = nlohmann::json::object();
  for (const auto& plugin : installation_.catalogue->loaded())
    for (const auto& type : plugin.action_types) {
      types.push_back(type);
      plugins[type] = {{"plugin", plugin.id + " " + plugin.version},
                       {"isolation", word_of(plugin.isolation.mode)},
                       {"draining", sender_renewal_.draining(type)},
                       {"notIsolated", plugin.not_isolated}};
    }
  for (const auto& type : registry_.action_types())
    if (const auto why = blocked_reason(type); !why.empty()) off[type] = why;
  const nlohmann::json facts{{"version", built_version()},
                             {"draining", draining_.load()},
                             {"claimsNothing", why_outdated()},
                             {"clockAheadSeconds", clock_.skew().count()},
                             {"lookedAgoMs", std::max<Millis::rep>(0, looked_ago.count())},
                             {"freeBytes", planner_.free_bytes()},
                             {"maxBytes", config_.limits.in_flight_bytes},
                             {"actionTypes", std::move(types)},
                             {"plugins", std::move(plugins)},
                             {"off", std::move(off)}};
  return stores_.maintenance->tell(*host, facts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace waybill
