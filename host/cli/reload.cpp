// `waybill reload`: checks the registry, tells the hosts of this machine, and waits for what they say.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include "app/installation.h"
#include "base/printing.h"
#include "cli/caller.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

constexpr auto kPatience = std::chrono::minutes(2);  // a host's form workers may be busy, and its registry large
constexpr auto kBetweenLooks = std::chrono::milliseconds(50);

std::string with_indent(std::string lines) {
  for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 3) lines.insert(at + 1, "  ");
  return lines;
}

bool is_waybill(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  return std::getline(in, name) && name == "waybill";
}

// A host of this machine that was told to reload.
struct Told {
  HostRegistry host;
  pid_t pid;
};

// Those of this machine; prints what is known of the others, whose own machines tell them.
std::vector<Told> hosts_here(const std::vector<HostRegistry>& hosts, const std::string& digest) {
  std::vector<Told> here;
  for (const auto& host : hosts) {
    const auto colon = host.name.rfind(':');
    if (colon == std::string::npos || host.name.substr(0, colon) != this_machine()) {
      const bool has_it = host.report && host.report->digest == digest;
      print_line("host " + host.name + " is on another machine" +
                 (has_it ? ", and runs by the same files" : ", and runs by other files: run `waybill reload` there"));
      continue;
    }
    const pid_t pid = std::atoi(host.name.c_str() + colon + 1);
    if (pid > 1 && is_waybill(pid)) here.push_back({host, pid});
  }
  return here;
}

// Prints what came of the request at this host. True if it runs by the new registry now.
bool print_verdict(const HostRegistry& host) {
  const auto& report = *host.report;
  const auto remarks = report.remarks.empty() ? "" : "\n  " + with_indent(report.remarks);
  if (report.verdict == "loaded") {
    print_line("host " + host.name + " runs by it now (" + report.digest + ")" + remarks);
    return true;
  }
  print_error("host %s keeps the registry that it had (%s): %s%s\n", host.name.c_str(), report.digest.c_str(),
              report.verdict == "refused" ? "it refused the new one" : "the new one could not be stored", remarks.c_str());
  return false;
}

// Waits for the verdict of each, for as long as the slowest may take. True if all have taken the registry up.
bool wait_for_verdicts(FormStore& store, std::vector<Told> told, std::int64_t request) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  bool is_good = true;
  while (!told.empty()) {
    const auto hosts = store.registries();
    if (!hosts) return failed(hosts.error().what) == 0;
    const bool is_late = std::chrono::steady_clock::now() >= end;
    std::erase_if(told, [&](const Told& one) {
      const auto now = std::find_if(hosts->begin(), hosts->end(), [&](const auto& host) { return host.name == one.host.name; });
      if (now != hosts->end() && now->report && now->report->request >= request) {
        is_good = print_verdict(*now) && is_good;
        std::fflush(stdout);  // the next one may be long in coming
        return true;
      }
      const bool is_gone = now == hosts->end() || !is_waybill(one.pid);
      if (!is_gone && !is_late) return false;
      print_error("host %s %s\n", one.host.name.c_str(),
                  is_gone ? "ended before it said what came of it" : "did not say in time what came of it: see its log");
      is_good = false;
      return true;
    });
    if (!told.empty()) std::this_thread::sleep_for(kBetweenLooks);
  }
  return is_good;
}

}  // namespace

int reload(const GlobalOptions& options) {
  const auto config = configuration(options);
  if (!config) return 1;
  const LoadedInstallation installation = load_installation(*config, MissingPluginPolicy::tolerate);
  if (!installation.problems.empty()) {
    print(installation.problems);
    return failed("not reloaded: running hosts keep the registry they have");
  }
  print(installation.absent, "warning: ");
  Log log = quiet_log();
  const auto database = fit_database(*config, log);
  if (!database) return failed(database.error().what);
  const auto store = make_form_store(database->address, 1, {});
  const auto hosts = store->registries();
  if (!hosts) return failed(hosts.error().what);
  const auto told = hosts_here(*hosts, installation.registry_digest);
  if (told.empty()) return failed("no host of this installation is running on this machine");
  std::vector<std::string> names;
  for (const auto& one : told) names.push_back(one.host.name);
  const auto request = store->ask_reload(caller(), names);
  if (!request) return failed(request.error().what);
  std::vector<Told> waiting;
  for (const auto& one : told) {
    if (kill(one.pid, SIGHUP) != 0) return failed("cannot signal host " + one.host.name);
    if (one.host.is_mute)
      print_line("told host " + one.host.name + ", which is of an older version: its log says what came of it");
    else
      waiting.push_back(one);
  }
  const bool all_took_it = wait_for_verdicts(*store, std::move(waiting), *request);
  const auto& refused = installation.catalogue->refused();
  if (!refused.empty())
    print_error("waybill: %zu of the plugins' files cannot be used (`waybill plugin list`): %s\n", refused.size(),
                refused.front().file.c_str());
  return all_took_it && refused.empty() ? 0 : 1;
}

}  // namespace waybill
