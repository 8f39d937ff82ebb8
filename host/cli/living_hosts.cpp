// What each living host can do, by its own words. What is not there is not known, and no hindrance.
#include "cli/living_hosts.h"

#include <algorithm>

namespace waybill {
namespace {

std::string in_seconds(Micros length) { return std::to_string(std::chrono::duration_cast<Seconds>(length).count()) + " s"; }

// It will say what it can do, and has not come to it.
bool has_just_begun(const LivingHost& host) { return host.facts.empty() && host.told_ago && !is_silent(host); }

// An empty code: nothing that is known.
BlockedReason hindrance(const LivingHost& host, const std::string& action_type) {
  const std::string it = "host " + host.name;
  if (!host.told_ago) return {};
  if (is_silent(host))
    return {"host_silent",
            it + " has said nothing for " + in_seconds(*host.told_ago) + ": it is stopped, hangs, or waits for the database"};
  const auto report = report_of(host);
  if (report.is_draining) return {"draining", it + " is ending: it drains"};
  if (!report.drain.empty())
    return {"host_drained",
            it + " was drained " + report.drain + "; it claims nothing until `waybill hosts resume " + report.name + "`"};
  if (!report.claims_nothing.empty()) return {"claims_nothing", it + " claims nothing: " + report.claims_nothing};
  if (report.action_types && !report.action_types->contains(action_type))
    return {"plugin_missing", it + " has no plugin for action type " + action_type};
  if (const auto off = report.off.find(action_type); off != report.off.end() && !off->second.empty())
    return {"switched_off", it + ": " + off->second};
  if (report.looked_ago > 2 * kHostSilent)
    return {"host_silent", it + " has not looked at the queue for " + in_seconds(report.looked_ago)};
  return {};
}

}  // namespace

std::vector<PluginInUse> plugins_in_use(const std::vector<LivingHost>& hosts) {
  std::vector<PluginInUse> all;
  for (const auto& host : hosts)
    for (auto& in_use : report_of(host).in_use) all.push_back(std::move(in_use));
  return all;
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
    const auto report = report_of(host);
    if (report.max_bytes == 0 || report.free_bytes > report.max_bytes / 8) return {};  // not known, or room for most bodies
    most = std::max(most, report.max_bytes);
    taken = std::max(taken, report.max_bytes - report.free_bytes);
  }
  if (most == 0) return {};
  return "due, but the bodies in flight take " + std::to_string(taken) + " of " + std::to_string(most) +
         " bytes on every host (limits.in_flight_bytes)";
}

std::string silence_of(const Explanation& e, const std::string& host_name) {
  for (const auto& host : e.living)
    if (host.name == host_name && is_silent(host)) return in_seconds(*host.told_ago);
  return {};
}

}  // namespace waybill
