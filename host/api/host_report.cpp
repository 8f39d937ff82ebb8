// Reading what hosts say. What is not there is not known.
#include "api/host_report.h"

#include <nlohmann/json.hpp>

#include "base/json_reader.h"

namespace waybill {
namespace {

using HostFacts = nlohmann::json;

std::string word_in(const HostFacts& facts, const char* name) {
  const auto found = facts.find(name);
  return found != facts.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::int64_t> number_in(const HostFacts& facts, const char* name) {
  const auto found = facts.find(name);
  return found != facts.end() && found->is_number_integer() ? std::optional(found->get<std::int64_t>()) : std::nullopt;
}

std::vector<std::string> words_in(const HostFacts& facts, const char* name) {
  std::vector<std::string> words;
  if (const auto list = facts.find(name); list != facts.end() && list->is_array())
    for (const auto& word : *list)
      if (word.is_string()) words.push_back(word.get<std::string>());
  return words;
}

void read_plugins(const LivingHost& host, const HostFacts& plugins, HostReport& report) {
  for (const auto& [type, plugin] : plugins.items()) {
    if (!plugin.is_object()) continue;
    report.in_use.push_back(
        {host.name, type, word_in(plugin, "plugin"), word_in(plugin, "isolation"), words_in(plugin, "draining")});
    report.plugins[type] = report.in_use.back().plugin;
    for (auto& missing : words_in(plugin, "notIsolated")) report.not_isolated.emplace_back(type, std::move(missing));
  }
}

}  // namespace

HostReport report_of(const LivingHost& host) {
  const auto read = read_sorted_json(host.facts, {});
  const auto facts = read && read->is_object() ? *read : HostFacts::object();
  HostReport report{.name = word_in(facts, "name"),
                    .version = word_in(facts, "version"),
                    .is_draining = facts.value("draining", false),
                    .drain = word_in(facts, "drain"),
                    .claims_nothing = word_in(facts, "claimsNothing"),
                    .not_ready = {},
                    .clock_ahead = Seconds{number_in(facts, "clockAheadSeconds").value_or(0)},
                    .in_flight = number_in(facts, "inFlight"),
                    .looked_ago = Millis{number_in(facts, "lookedAgoMs").value_or(0)},
                    .free_bytes = number_in(facts, "freeBytes").value_or(0),
                    .max_bytes = number_in(facts, "maxBytes").value_or(0),
                    .action_types = {},
                    .in_use = {},
                    .plugins = {},
                    .off = {},
                    .not_isolated = {}};
  if (report.name.empty()) report.name = host.name;
  if (facts.contains("notReady")) report.not_ready = word_in(facts, "notReady");
  if (facts.contains("actionTypes")) {
    const auto types = words_in(facts, "actionTypes");
    report.action_types = std::set<std::string>(types.begin(), types.end());
  }
  if (const auto plugins = facts.find("plugins"); plugins != facts.end() && plugins->is_object())
    read_plugins(host, *plugins, report);
  if (const auto off = facts.find("off"); off != facts.end() && off->is_object())
    for (const auto& [type, why] : off->items())
      if (why.is_string()) report.off[type] = why.get<std::string>();
  return report;
}

bool is_silent(const LivingHost& host) { return host.told_ago && *host.told_ago > kHostSilent; }

}  // namespace waybill
