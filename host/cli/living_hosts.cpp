// Reading what host/app/host_facts.cpp writes. What is not there is not known, and no hindrance.
#include "cli/living_hosts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json_reader.h"

namespace waybill {
namespace {

constexpr Seconds kSilent{15};  // a host says what it does once a second

std::string in_seconds(Micros length) { return std::to_string(std::chrono::duration_cast<Seconds>(length).count()) + " s"; }

nlohmann::json facts_of(const LivingHost& host) {
  auto facts = read_sorted_json(host.facts, {});
  return facts && facts->is_object() ? std::move(*facts) : nlohmann::json::object();
}

// It will say what it can do, and has not come to it.
bool has_just_begun(const LivingHost& host) { return host.facts.empty() && host.told_ago && *host.told_ago <= kSilent; }

bool lists(const nlohmann::json& facts, const std::string& action_type) {
  const auto types = facts.find("actionTypes");
  return types == facts.end() || std::find(types->begin(), types->end(), action_type) != types->end();
}

std::string word_in(const nlohmann::json& facts, const char* name) {
  const auto found = facts.find(name);
  return found != facts.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t number_in(const nlohmann::json& facts, const char* name) {
  const auto found = facts.find(name);
  return found != facts.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

// An empty code: nothing that is known.
BlockedReason hindrance(const LivingHost& host, const std::string& action_type) {
  const std::string it = "host " + host.name;
  if (!host.told_ago) return {};
  if (*host.told_ago > kSilent)
    return {"host_silent",
            it + " has said nothing for " + in_seconds(*host.told_ago) + ": it is stopped, hangs, or waits for the database"};
  const auto facts = facts_of(host);
  if (facts.value("draining", false)) return {"draining", it + " is ending: it drains"};
  if (const auto why = word_in(facts, "claimsNothing"); !why.empty()) return {"claims_nothing", it + " claims nothing: " + why};
  if (!lists(facts, action_type)) return {"plugin_missing", it + " has no plugin for action type " + action_type};
  if (const auto off = facts.find("off"); off != facts.end() && off->is_object())
    if (const auto why = word_in(*off, action_type.c_str()); !why.empty()) return {"switched_off", it + ": " + why};
  const Millis looked_ago{number_in(facts, "lookedAgoMs")};
  if (looked_ago > 2 * kSilent) return {"host_silent", it + " has not looked at the queue for " + in_seconds(looked_ago)};
  return {};
}

}  // namespace

std::vector<PluginInUse> plugins_in_use(const std::vector<LivingHost>& hosts) {
  std::vector<PluginInUse> all;
  for (const auto& host : hosts) {
    const auto facts = facts_of(host);
    const auto plugins = facts.find("plugins");
    if (plugins == facts.end() || !plugins->is_object()) continue;
    for (const auto& [type, plugin] : plugins->items()) {
      PluginInUse one{host.name, type, word_in(plugin, "plugin"), word_in(plugin, "isolation"), {}};
      if (const auto draining = plugin.find("draining"); draining != plugin.end() && draining->is_array())
        for (const auto& version : *draining)
          if (version.is_string()) one.draining.push_back(version.get<std::string>());
      all.push_back(std::move(one));
    }
  }
  return all;
}

HostReport report_of(const LivingHost& host) {
  const auto facts = facts_of(host);
  HostReport report{.version = word_in(facts, "version"),
                    .is_draining = facts.value("draining", false),
                    .claims_nothing = word_in(facts, "claimsNothing"),
                    .clock_ahead = Seconds{number_in(facts, "clockAheadSeconds")},
                    .plugins = {},
                    .off = {},
                    .not_isolated = {}};
  for (const auto& in_use : plugins_in_use({host})) report.plugins[in_use.action_type] = in_use.plugin;
  if (const auto off = facts.find("off"); off != facts.end() && off->is_object())
    for (const auto& [type, why] : off->items())
      if (why.is_string()) report.off[type] = why.get<std::string>();
  const auto plugins = facts.find("plugins");
  if (plugins == facts.end() || !plugins->is_object()) return report;
  for (const auto& [type, plugin] : plugins->items())
    if (const auto missing = plugin.find("notIsolated"); missing != plugin.end() && missing->is_array())
      for (const auto& what : *missing)
        if (what.is_string()) report.not_isolated.emplace_back(type, what.get<std::string>());
  return report;
}

bool is_told(const Explanation& e) {
  return std::any_of(e.living.begin(), e.living.end(), [](const LivingHost& host) { return !host.facts.empty(); });
}

std::optional<BlockedReason> why_nobody(const Explanation& e, const std::string& action_type) {
  BlockedReason all;
  std::string begun;
  for (const auto& host : e.living) {
    if (has_just_begun(host)) {
      begun += "; host " + host.name + " has just begun, and has said nothing yet";
      continue;
    }
    const auto why = hindrance(host, action_type);
    if (why.code.empty()) return std::nullopt;
    all.code = all.code.empty() || all.code == why.code ? why.code : "no_able_host";
    all.text += (all.text.empty() ? "" : "; ") + why.text;
  }
  if (all.code.empty()) return std::nullopt;
  all.text += begun;
  return all;
}

std::string why_no_room_for_bodies(const Explanation& e) {
  std::int64_t most = 0, taken = 0;
  for (const auto& host : e.living) {
    const auto facts = facts_of(host);
    const auto limit = number_in(facts, "maxBytes"), free = number_in(facts, "freeBytes");
    if (limit == 0 || free > limit / 8) return {};  // not known, or room for most bodies
    most = std::max(most, limit);
    taken = std::max(taken, limit - free);
  }
  if (most == 0) return {};
  return "due, but the bodies in flight take " + std::to_string(taken) + " of " + std::to_string(most) +
         " bytes on every host (limits.in_flight_bytes)";
}

std::string silence_of(const Explanation& e, const std::string& host_name) {
  for (const auto& host : e.living)
    if (host.name == host_name && host.told_ago && *host.told_ago > kSilent) return in_seconds(*host.told_ago);
  return {};
}

}  // namespace waybill
