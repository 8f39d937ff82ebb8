// Parsing /proc; a process that is gone counts as nothing.
#include "bench/usage.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "support/temp_folder.h"

namespace waybill::bench {
namespace {

struct Stat {
  pid_t parent = 0;
  double own = 0;    // CPU seconds
  double ended = 0;  // of children that have been waited for
};

Stat stat_of(const std::string& process) {
  const auto text = testing::read_file("/proc/" + process + "/stat");
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  Stat stat;
  std::string skipped;
  fields >> skipped >> stat.parent;
  for (int i = 0; i < 9; ++i) fields >> skipped;  // up to utime, the 14th field
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

double cpu_seconds(pid_t process) { return stat_of(std::to_string(process)).own; }

double cpu_seconds_of_tree(pid_t process) {
  const Stat root = stat_of(std::to_string(process));
  double all = root.own + root.ended;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const Stat stat = stat_of(name);
    if (stat.parent == process) all += stat.own + stat.ended;
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
