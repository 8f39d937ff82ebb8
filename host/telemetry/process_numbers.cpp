// Reads /proc/self.
#include "telemetry/process_numbers.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace waybill {
namespace {

// Seconds since 1970 at which this machine was started. Not from /proc/stat, which a service may not see (ProcSubset=pid).
double boot_time() {
  static const double time = [] {  // one answer, however the clock is set meanwhile
    timespec now{}, since_boot{};
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    return static_cast<double>(now.tv_sec - since_boot.tv_sec) + static_cast<double>(now.tv_nsec - since_boot.tv_nsec) / 1e9;
  }();
  return time;
}

// The least memory.max from this process's cgroup (version 2) up to the root; the machine's memory if there is none.
double memory_limit() {
  double least = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  std::ifstream in("/proc/self/cgroup");
  std::string line;
  while (std::getline(in, line) && !line.starts_with("0::/")) line.clear();
  const std::filesystem::path root("/sys/fs/cgroup");
  std::filesystem::path group = line.empty() ? root : root / line.substr(4);
  for (;; group = group.parent_path()) {
    std::ifstream file(group / "memory.max");
    if (double bytes = 0; file >> bytes) least = std::min(least, bytes);  // "max" is no number
    if (group == root || !group.has_relative_path()) return least;
  }
}

}  // namespace

ProcessNumbers process_numbers() {
  ProcessNumbers numbers;
  std::ifstream stat("/proc/self/stat");
  std::string text;
  std::getline(stat, text);
  // Behind the name, which may hold anything: field 3 and those that follow. 14 and 15: ticks on processors; 22: start, in ticks
  // since boot; 23: bytes; 24: resident pages (proc(5)).
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  std::string state;
  fields >> state;
  double value = 0;
  for (int field = 4; field <= 24 && fields >> value; ++field) {
    if (field == 14 || field == 15) numbers.cpu_seconds += value / ticks;
    if (field == 22) numbers.started = boot_time() + value / ticks;
    if (field == 23) numbers.virtual_bytes = value;
    if (field == 24) numbers.resident_bytes = value * static_cast<double>(sysconf(_SC_PAGESIZE));
  }
  numbers.memory_limit = memory_limit();
  std::error_code error;
  for (std::filesystem::directory_iterator file("/proc/self/fd", error), end; !error && file != end; file.increment(error))
    ++numbers.open_files;
  if (rlimit limit{}; getrlimit(RLIMIT_NOFILE, &limit) == 0) numbers.max_files = static_cast<double>(limit.rlim_cur);
  return numbers;
}

}  // namespace waybill
