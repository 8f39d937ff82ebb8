// `waybill reload`: checks the registry, then tells the hosts of this machine.
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "app/installation.h"
#include "base/printing.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

std::string this_machine() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

// When a process of this machine had certainly started, in nanoseconds since 1970; none if that cannot be seen.
std::optional<std::int64_t> start_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  if (!std::getline(in, stat)) return std::nullopt;
  constexpr int kStartTime = 20;  // fields behind the name, which ends with ')'
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
  std::string field;
  for (int i = 0; i < kStartTime; ++i)
    if (!(fields >> field)) return std::nullopt;
  timespec now{}, up{};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &up);
  const auto tick = kSecond / sysconf(_SC_CLK_TCK);
  return nanoseconds(now) - nanoseconds(up) + (std::atoll(field.c_str()) + 1) * tick;
}

// A reload loads no plugins.
void report_newer_plugins(const std::filesystem::path& folder, const std::string& host, pid_t pid) {
  const auto started = start_of(pid);
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; started && !error && entry != end; entry.increment(error)) {
    struct stat found {};
    if (entry->path().extension() != ".so" || stat(entry->path().c_str(), &found) != 0 || nanoseconds(found.st_ctim) <= *started)
      continue;
    print_line(entry->path().string() + " is newer than host " + host + ": restart to load it");
  }
}

bool is_waybill(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  return std::getline(in, name) && name == "waybill";
}

}  // namespace

int reload(const GlobalOptions& options) {
  const auto config = configuration(options);
  if (!config) return 1;
  const LoadedInstallation installation = load_installation(*config);
  if (!installation.problems.empty()) {
    print(installation.problems);
    return failed("not reloaded: running hosts keep the registry they have");
  }
  Log log = quiet_log();
  const auto database = ready_database(*config, log);
  if (!database) return failed(database.error().what);
  const auto hosts = make_read_store(database->address, 1)->hosts();
  if (!hosts) return failed(hosts.error().what);
  int notified = 0;
  for (const auto& host : *hosts) {
    const auto colon = host.name.rfind(':');
    if (colon == std::string::npos || host.name.substr(0, colon) != this_machine()) {
      print_line("host " + host.name + " is on another machine: run `waybill reload` there");
      continue;
    }
    const pid_t pid = std::atoi(host.name.c_str() + colon + 1);
    if (pid <= 1 || !is_waybill(pid)) continue;
    if (kill(pid, SIGHUP) != 0) return failed("cannot signal host " + host.name);
    print_line("told host " + host.name + "; its log says registry.reloaded or registry.refused");
    report_newer_plugins(config->plugins, host.name, pid);
    ++notified;
  }
  return notified > 0 ? 0 : failed("no host of this installation is running on this machine");
}

}  // namespace waybill
