// Starting and ending the quarantine.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "app/quarantine.h"

extern char** environ;

namespace waybill {
namespace {

constexpr Millis kEvery{500};
constexpr std::chrono::seconds kEndWithin{5};
constexpr int kFirstForeignDescriptor = 3;

}  // namespace

PeriodicTask QuarantineProcess::task() {
  return {"quarantine", kEvery, [this]() -> Result<void> {
            if (is_running()) return {};
            const auto wanted = store_.is_help_wanted();
            if (!wanted) return tl::unexpected(wanted.error());
            return *wanted ? start() : Result<void>{};
          }};
}

bool QuarantineProcess::is_running() {
  int status = 0;
  if (pid_ == 0 || waitpid(pid_, &status, WNOHANG) == 0) return pid_ != 0;
  if (WIFSIGNALED(status))
    log_.error("quarantine.died", {{"pid", pid_}, {"signal", WTERMSIG(status)}});
  else if (WEXITSTATUS(status) != 0)
    log_.error("quarantine.failed", {{"pid", pid_}, {"exit_code", WEXITSTATUS(status)}});
  pid_ = 0;
  return false;
}

Result<void> QuarantineProcess::start() {
  std::vector<std::string> words{"waybill", "quarantine", "--parent", std::to_string(getpid())};
  if (!config_.empty()) words.insert(words.end(), {"--config", config_.string()});
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // It gets no socket of this host: one that it kept would keep the port taken.
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addclosefrom_np(&files, kFirstForeignDescriptor);
  const int error = posix_spawn(&pid_, "/proc/self/exe", &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    pid_ = 0;
    return fail(Error::Kind::unavailable, std::string("the quarantine cannot be started: ") + std::strerror(error));
  }
  log_.info("quarantine.started", {{"pid", pid_}});
  return {};
}

QuarantineProcess::~QuarantineProcess() {
  if (!is_running()) return;
  kill(pid_, SIGTERM);
  for (const auto until = clock_.now() + kEndWithin; is_running(); std::this_thread::sleep_for(std::chrono::milliseconds(10)))
    if (clock_.now() >= until) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
      return;
    }
}

}  // namespace waybill
