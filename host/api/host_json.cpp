// Reading and writing the surface of hosts.
#include "api/host_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/host_report.h"
#include "api/json_answer.h"
#include "api/json_object.h"

namespace waybill {
namespace {

Json json_of(const HostDrain& drain) {
  return {{"since", format_rfc3339(drain.since)}, {"actor", drain.actor}, {"reason", drain.reason}};
}

HostReport report_of(const ListedHost& host) { return report_of(host.process.value_or(LivingHost{})); }

Json number_or_null(const std::optional<std::int64_t>& number) { return number ? Json(*number) : Json(nullptr); }

Json plugins_json(const HostReport& report) {
  Json plugins = Json::array();
  for (const auto& one : report.in_use)
    plugins.push_back(
        {{"actionType", one.action_type}, {"plugin", one.plugin}, {"isolation", one.isolation}, {"draining", one.draining}});
  return plugins;
}

Json off_json(const HostReport& report) {
  Json off = Json::array();
  for (const auto& [type, why] : report.off) off.push_back({{"actionType", type}, {"why", why}});
  return off;
}

Json json_of(const ListedHost& host) {
  const auto report = report_of(host);
  const auto& version = host.process ? report.version : host.last_version;
  return {{"name", host.name},
          {"process", text_or_null(host.process ? host.process->name : "")},
          {"state", state_of(host)},
          {"notReady", text_or_null(report.not_ready.value_or(""))},
          {"version", text_or_null(version)},
          {"schema", host.knows == 0 ? Json(nullptr) : Json(host.knows)},
          {"startedAt", time_or_null(host.started)},
          {"heardAt", time_or_null(host.heard)},
          {"lastSuccessAt", time_or_null(host.succeeded)},
          {"inFlight", number_or_null(report.in_flight)},
          {"registry", text_or_null(host.digest)},
          {"plugins", plugins_json(report)},
          {"switchedOff", off_json(report)},
          {"drain", host.drain ? json_of(*host.drain) : Json(nullptr)}};
}

}  // namespace

std::string_view state_of(const ListedHost& host) {
  if (!host.process) return "away";
  if (!host.lives) return "dead";
  if (is_silent(*host.process)) return "silent";
  const auto report = report_of(host);
  if (report.is_draining) return "ending";
  if (host.drain) return !report.drain.empty() && report.in_flight == 0 ? "drained" : "draining";
  if (!report.not_ready) return "unknown";
  return report.not_ready->empty() ? "ready" : "not_ready";
}

std::size_t claiming_beside(const std::vector<ListedHost>& hosts, const std::string& name) {
  return static_cast<std::size_t>(std::count_if(hosts.begin(), hosts.end(), [&](const ListedHost& host) {
    const auto state = state_of(host);
    return host.name != name && (state == "ready" || state == "unknown");
  }));
}

Result<std::string> read_drain(std::string_view body) {
  const auto object = JsonObject::parse(body, {"reason"});
  TRY(object);
  return object->string("reason");
}

Json listed_json(const std::vector<ListedHost>& hosts) {
  Json items = Json::array();
  for (const auto& host : hosts) items.push_back(json_of(host));
  return {{"items", std::move(items)}};
}

Json drained_json(const std::string& name, const HostDrain& drain, const std::vector<ListedHost>& hosts) {
  Json processes = Json::array();
  for (const auto& host : hosts)
    if (host.name == name && host.process)
      processes.push_back({{"process", host.process->name}, {"inFlight", number_or_null(report_of(host).in_flight)}});
  return {{"name", name},
          {"drain", json_of(drain)},
          {"processes", std::move(processes)},
          {"othersThatClaim", claiming_beside(hosts, name)}};
}

Json undrained_json(const std::string& name, const HostDrain& drain) {
  return {{"name", name}, {"resumed", true}, {"drain", json_of(drain)}};
}

}  // namespace waybill
