// Starting and ending processes.
#include "app/child_process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

extern char** environ;

namespace waybill {
namespace {

constexpr std::chrono::seconds kEndWithin{5};
constexpr int kFirstForeignDescriptor = 3;

}  // namespace

bool ChildProcess::is_running() {
  int status = 0;
  if (pid_ == 0 || waitpid(pid_, &status, WNOHANG) == 0) return pid_ != 0;
  if (WIFSIGNALED(status))
    log_.error(events_.died, {{"pid", pid_}, {"signal", WTERMSIG(status)}});
  else if (WEXITSTATUS(status) != 0)
    log_.error(events_.failed, {{"pid", pid_}, {"exit_code", WEXITSTATUS(status)}});
  pid_ = 0;
  return false;
}

void ChildProcess::ask_to_end() {
  if (is_running()) kill(pid_, SIGTERM);
}

Result<void> ChildProcess::start(std::vector<std::string> words) {
  words.insert(words.begin(), "waybill");
  words.insert(words.end(), {"--parent", std::to_string(getpid())});
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
    return fail(Error::Kind::unavailable, std::string("a process of its own cannot be started: ") + std::strerror(error));
  }
  log_.info(events_.started, {{"pid", pid_}});
  return {};
}

ChildProcess::~ChildProcess() {
  ask_to_end();
  for (const auto until = clock_.now() + kEndWithin; is_running(); std::this_thread::sleep_for(std::chrono::milliseconds(10)))
    if (clock_.now() >= until) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
      return;
    }
}

}  // namespace waybill
