// `waybill reload`: checks the registry, tells the hosts of this machine, and waits for what they say.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "app/installation.h"
#include "base/printing.h"
#include "cli/caller.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/progress_line.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

constexpr auto kPatience = std::chrono::minutes(2);  // a host's form workers may be busy, and its registry large
constexpr auto kBetweenLooks = std::chrono::milliseconds(50);

std::string with_indent(std::string lines) {
  for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 3) lines.insert(at + 1, "  ");
  return lines;
}

// By ExecReload= of a unit the service is known, and its processes may be hidden (ProtectProc=invisible).
bool is_main_process(pid_t pid) {
  const char* told = std::getenv("MAINPID");
  return told != nullptr && told == std::to_string(pid) && kill(pid, 0) == 0;
}

bool is_waybill(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  return std::getline(in, name) ? name == "waybill" : is_main_process(pid);
}

// A host of this machine that was told to reload.
struct Told {
  HostRegistry host;
  pid_t pid;
};

// What is told of each host, in words or as JSON. `is_good`: in words it goes to standard output, else to standard error.
class Telling {
 public:
  explicit Telling(const GlobalOptions& options) : as_json_(options.json) {}

  void tell(const HostRegistry& host, const char* verdict, bool is_good, const std::string& words) {
    is_good_ = is_good_ && is_good;
    if (as_json_) {
      Json json{{"host", host.name}, {"verdict", verdict}, {"digest", nullptr}, {"remarks", ""}};
      if (host.report) json["digest"] = host.report->digest;
      if (host.report && is_answer(verdict)) json["remarks"] = host.report->remarks;
      list_.push_back(std::move(json));
    } else if (is_good) {
      print_line("host " + host.name + " " + words);
      std::fflush(stdout);  // the next one may be long in coming
    } else {
      print_error("host %s %s\n", host.name.c_str(), words.c_str());
    }
  }
  bool is_good() const { return is_good_; }
  const Json& list() const { return list_; }

 private:
  // That of an older request is none.
  static bool is_answer(std::string_view verdict) {
    return verdict == "loaded" || verdict == "refused" || verdict == "not_stored";
  }

  bool as_json_, is_good_ = true;
  Json list_ = Json::array();
};

// Those of this machine; tells what is known of the others, whose own machines tell them.
std::vector<Told> hosts_here(const std::vector<HostRegistry>& hosts, const std::string& digest, Telling& telling) {
  std::vector<Told> here;
  for (const auto& host : hosts) {
    const auto colon = host.name.rfind(':');
    if (colon == std::string::npos || host.name.substr(0, colon) != this_machine()) {
      const bool has_it = host.report && host.report->digest == digest;
      telling.tell(host, has_it ? "elsewhere_same" : "elsewhere_other", true,
                   std::string("is on another machine") +
                       (has_it ? ", and runs by the same files" : ", and runs by other files: run `waybill reload` there"));
      continue;
    }
    const pid_t pid = std::atoi(host.name.c_str() + colon + 1);
    if (pid > 1 && is_waybill(pid)) here.push_back({host, pid});
  }
  return here;
}

// What came of the request at this host.
void tell_verdict(const HostRegistry& host, Telling& telling) {
  const auto& report = *host.report;
  const auto remarks = report.remarks.empty() ? "" : "\n  " + with_indent(report.remarks);
  if (report.verdict == "loaded") return telling.tell(host, "loaded", true, "runs by it now (" + report.digest + ")" + remarks);
  const bool is_refused = report.verdict == "refused";
  telling.tell(host, is_refused ? "refused" : "not_stored", false,
               "keeps the registry that it had (" + report.digest +
                   "): " + (is_refused ? "it refused the new one" : "the new one could not be stored") + remarks);
}

// Waits for the verdict of each, for as long as the slowest may take.
Result<void> wait_for_verdicts(FormStore& store, std::vector<Told> told, std::int64_t request, Telling& telling) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  ProgressLine progress("");
  while (!told.empty()) {
    progress.show("waiting for " + std::to_string(told.size()) + " host(s)");
    const auto hosts = store.registries();
    TRY(hosts);
    const bool is_late = std::chrono::steady_clock::now() >= end;
    std::erase_if(told, [&](const Told& one) {
      const auto now = std::find_if(hosts->begin(), hosts->end(), [&](const auto& host) { return host.name == one.host.name; });
      const bool has_answered = now != hosts->end() && now->report && now->report->request >= request;
      const bool is_gone = now == hosts->end() || !is_waybill(one.pid);
      if (!has_answered && !is_gone && !is_late) return false;
      progress.clear();
      if (has_answered)
        tell_verdict(*now, telling);
      else
        telling.tell(one.host, is_gone ? "ended" : "late", false,
                     is_gone ? "ended before it said what came of it" : "did not say in time what came of it: see its log");
      return true;
    });
    if (!told.empty()) std::this_thread::sleep_for(kBetweenLooks);
  }
  return {};
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
  Telling telling(options);
  const auto told = hosts_here(*hosts, installation.registry_digest, telling);
  if (told.empty()) return failed("no host of this installation is running on this machine");
  std::vector<std::string> names;
  for (const auto& one : told) names.push_back(one.host.name);
  const auto request = store->ask_reload(caller(), names);
  if (!request) return failed(request.error().what);
  std::vector<Told> waiting;
  for (const auto& one : told) {
    if (kill(one.pid, SIGHUP) != 0) return failed("cannot signal host " + one.host.name);
    if (one.host.is_mute)
      telling.tell(one.host, "told", true, "was told; it is of an older version: its log says what came of it");
    else
      waiting.push_back(one);
  }
  if (const auto waited = wait_for_verdicts(*store, std::move(waiting), *request, telling); !waited)
    return failed(waited.error().what);
  const auto& refused = installation.catalogue->refused();
  if (options.json) {
    Json files = Json::array();
    for (const auto& file : refused) files.push_back({{"file", file.file}, {"reason", file.reason}, {"remedy", file.remedy}});
    print_json({{"digest", installation.registry_digest}, {"hosts", telling.list()}, {"refusedFiles", files}});
  } else if (!refused.empty()) {
    print_error("waybill: %zu of the plugins' files cannot be used (`waybill plugin list`): %s\n", refused.size(),
                refused.front().file.c_str());
  }
  return telling.is_good() && refused.empty() ? 0 : 1;
}

}  // namespace waybill
