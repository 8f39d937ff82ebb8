// A child process that never outlives its owner: the database server, the daemon, or one command.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/eventually.h"

namespace waybill::testing {

struct Command {
  std::vector<std::string> arguments;              // the first is the program's path
  std::map<std::string, std::string> environment;  // on top of this process's own
  std::filesystem::path folder;                    // to run in; "" for this process's own
  std::filesystem::path out;                       // where standard output is appended; "" for nowhere
  std::filesystem::path err;                       // the same for standard error
  std::optional<std::pair<uid_t, gid_t>> user;     // to become, when we are root
  int signal_if_orphaned = 9;                      // what it gets when the thread that started it ends first
};

// Start it from a thread that lives as long as the process shall. One thread at a time.
class Process {
 public:
  explicit Process(const Command& command);
  ~Process();  // kills it
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  void signal(int number);  // nothing happens if it has ended
  // The exit code (128 + N for death by signal N); none if it is still running after `bound`.
  std::optional<int> wait(std::chrono::milliseconds bound = kBound);

 private:
  void reap(int options);

  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

struct CommandResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// Runs a command to its end and throws if it has none within the bound.
CommandResult run(Command command);

// What /proc tells of a process, such as "cmdline" or "stat"; "" if the process is gone, or ends meanwhile. Only of processes
// that the test started, or their children: others come and go, and are nobody's business.
std::string told_of(pid_t process, const std::string& file);
// The children of a process, whichever of its threads started them.
std::vector<pid_t> children_of(pid_t process);

// The numeric ids of user postgres when this process is root, else none.
std::optional<std::pair<uid_t, gid_t>> database_user();

}  // namespace waybill::testing
