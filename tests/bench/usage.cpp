// Parsing /proc; a process that is gone counts as nothing.
#include "bench/usage.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "support/process.h"

namespace waybill::bench {
namespace {

struct Stat {
  double own = 0;    // CPU seconds
  double ended = 0;  // of children that have been waited for
};

Stat stat_of(pid_t process) {
  const auto text = testing::told_of(process, "stat");
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  Stat stat;
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;  // up to utime, the 14th field
  double user = 0, system = 0, ended_user = 0, ended_system = 0;
  fields >> user >> system >> ended_user >> ended_system;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  stat.own = (user + system) / ticks;
  stat.ended = (ended_user + ended_system) / ticks;
  return stat;
}

// A line of the form "<name>:  <value>"; "" if there is none.
std::string value_in(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name)) continue;
    const auto start = line.find_first_not_of(" \t", line.find(':') + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

double megabytes(const std::string& kilobytes) { return std::strtod(kilobytes.c_str(), nullptr) / 1024; }
std::string status_file(pid_t process) { return "/proc/" + std::to_string(process) + "/status"; }

}  // namespace

double cpu_seconds(pid_t process) { return stat_of(process).own; }

double cpu_seconds_of_tree(pid_t process) {
  const Stat root = stat_of(process);
  double all = root.own + root.ended;
  for (const auto child : testing::children_of(process)) {
    const Stat stat = stat_of(child);
    all += stat.own + stat.ended;
  }
  return all;
}

double resident_mb(pid_t process) { return megabytes(value_in(status_file(process), "VmRSS")); }
double peak_resident_mb(pid_t process) { return megabytes(value_in(status_file(process), "VmHWM")); }

Machine this_machine() {
  return {static_cast<int>(std::thread::hardware_concurrency()), value_in("/proc/cpuinfo", "model name"),
          megabytes(value_in("/proc/meminfo", "MemTotal"))};
}

}  // namespace waybill::bench
