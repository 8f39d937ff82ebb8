// The commands on hosts work on the database, whether the host runs or not.
#include "cli/hosts.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "api/host_json.h"
#include "api/host_report.h"
#include "base/printing.h"
#include "cli/database_command.h"
#include "cli/given.h"
#include "cli/json_output.h"

namespace waybill {
namespace {

int with_hosts(const GlobalOptions& options, const std::function<Result<void>(HostStore&)>& act) {
  return on_database(options, [&](const Config&, const DatabaseAddress& address) {
    const auto done = act(*make_host_store(address));
    return done ? 0 : failed(done.error().what);
  });
}

Operator operator_of(const HostOptions& wanted, const char* command) { return {actor_of(wanted.actor), command}; }

std::string words_of(const HostDrain& drain) {
  return "since " + format_rfc3339(drain.since) + " by " + drain.actor + ": " + drain.reason;
}

std::string time_words(const char* what, const std::optional<Timestamp>& time) {
  return std::string(what) + (time ? format_rfc3339(*time) : "never");
}

void print(const ListedHost& host) {
  const auto report = report_of(host.process.value_or(LivingHost{}));
  const auto& version = host.process ? report.version : host.last_version;
  print_text(Ink::bold, "%s", host.name.c_str());
  print_line(": " + std::string(state_of(host)) + (host.process ? "  " + host.process->name : ""));
  print_line("  version      " + (version.empty() ? "an earlier one" : version) +
             (host.knows == 0 ? "" : ", schema " + std::to_string(host.knows)) +
             (host.digest.empty() ? "" : ", registry " + host.digest));
  print_line(time_words("  last heard   ", host.heard) + time_words(", last success ", host.succeeded));
  if (report.in_flight) print_line("  under way    " + std::to_string(*report.in_flight));
  if (report.not_ready && !report.not_ready->empty()) print_line("  not ready    " + *report.not_ready);
  if (host.drain) print_line("  drained      " + words_of(*host.drain));
  std::string plugins;
  for (const auto& one : report.in_use) plugins += (plugins.empty() ? "" : ", ") + one.action_type + " (" + one.plugin + ")";
  if (!plugins.empty()) print_line("  plugins      " + plugins);
  for (const auto& [type, why] : report.off) {
    std::string off = "  switched off ";
    print_line(off.append(type).append(": ").append(why));
  }
}

// What becomes of it, and of the work, after a drain.
void print_drained(const std::string& name, const std::vector<ListedHost>& hosts) {
  bool is_there = false;
  for (const auto& host : hosts) {
    if (host.name != name || !host.process) continue;
    is_there = true;
    const auto state = state_of(host);
    if (state == "dead" || state == "silent")
      print_line("its process " + host.process->name + " is " + std::string(state) + ": the drain holds when it comes back");
    else
      print_line("within about a second " + host.process->name +
                 " claims nothing, says that it is not ready, and finishes what it has: `waybill hosts list` shows how much");
  }
  if (!is_there) print_line("no process of it runs now: the drain holds when it comes back");
  print_line("until `waybill hosts resume " + name + "`, also after a restart");
  if (claiming_beside(hosts, name) == 0)
    print_error("warning: no other host claims anything: what is handed in waits, and deadlines run on\n");
}

}  // namespace

int list_hosts(const GlobalOptions& options) {
  return with_hosts(options, [&](HostStore& store) -> Result<void> {
    const auto hosts = store.list();
    TRY(hosts);
    if (options.json) {
      print_json(listed_json(*hosts));
      return {};
    }
    for (const auto& host : *hosts) print(host);
    if (hosts->empty()) print_line("no host runs, and none was heard");
    return {};
  });
}

int drain_host(const GlobalOptions& options, const HostOptions& wanted) {
  return with_hosts(options, [&](HostStore& store) -> Result<void> {
    const auto name = store.name_of(wanted.host);
    TRY(name);
    const auto drain = store.drain(*name, wanted.reason, operator_of(wanted, "hosts drain"));
    TRY(drain);
    const auto hosts = store.list();
    TRY(hosts);
    if (options.json)
      print_json(drained_json(*name, *drain, *hosts));
    else
      print_drained(*name, *hosts);
    return {};
  });
}

int resume_host(const GlobalOptions& options, const HostOptions& wanted) {
  return with_hosts(options, [&](HostStore& store) -> Result<void> {
    const auto name = store.name_of(wanted.host);
    TRY(name);
    const auto drain = store.resume(*name, operator_of(wanted, "hosts resume"));
    TRY(drain);
    if (options.json)
      print_json(undrained_json(*name, *drain));
    else
      print_line("the drain of " + *name + " is over, " + words_of(*drain));
    return {};
  });
}

}  // namespace waybill
