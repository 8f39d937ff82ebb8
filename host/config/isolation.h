// Where a plugin's code runs, and what it may have there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace waybill {

enum class IsolationMode { in_process, process };
inline const char* word_of(IsolationMode mode) { return mode == IsolationMode::process ? "process" : "in_process"; }

struct Isolation {
  IsolationMode mode = IsolationMode::in_process;
  // Of a process:
  std::size_t processes = 2;  // that share the work of an action type; of a blocking one: limits.blocking_workers
  std::size_t memory_bytes = std::size_t{512} << 20;
  std::size_t threads = 64;
  std::size_t descriptors = 64;
  bool network = false;                       // sockets of its own
  std::vector<std::filesystem::path> read{};  // files and folders that it may read, beside those of its runtime
  bool operator==(const Isolation&) const = default;
};

struct Isolations {
  std::map<std::string, Isolation, std::less<>> by_type{};  // action type -> what its operator says
  // Of shared libraries that Waybill does not bring and of which the operator says nothing; executables have a process always.
  IsolationMode others = IsolationMode::process;
  bool says_others = false;  // the operator says so; else it is the default

  bool operator==(const Isolations&) const = default;
};

}  // namespace waybill
