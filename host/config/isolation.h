// Where a plugin's code runs, and what it may have there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace waybill {

enum class IsolationMode { in_process, process };

struct Isolation {
  IsolationMode mode = IsolationMode::in_process;
  // Of a process:
  std::size_t processes = 1;  // that share the work of an action type; of a blocking one: limits.blocking_workers
  std::size_t memory_bytes = std::size_t{512} << 20;
  std::size_t threads = 64;
  std::size_t descriptors = 64;
  bool network = false;                       // sockets of its own
  std::vector<std::filesystem::path> read{};  // files and folders that it may read, beside those of its runtime
  bool operator==(const Isolation&) const = default;
};

using Isolations = std::map<std::string, Isolation, std::less<>>;  // by action type; what is not there is as the default

}  // namespace waybill
