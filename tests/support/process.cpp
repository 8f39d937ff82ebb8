// fork and exec; between the two only calls that are safe in a child of a program with threads.
#include "support/process.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "support/temp_folder.h"

extern char** environ;

namespace waybill::testing {
namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> all;
  for (auto& s : strings) all.push_back(s.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_of(const Command& command) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("WAYBILL_")) continue;  // the tests' own switches, not the host's
    if (!command.environment.contains(std::string(text.substr(0, text.find('='))))) all.emplace_back(text);
  }
  for (const auto& [name, value] : command.environment) all.push_back(name + "=" + value);
  return all;
}

}  // namespace

Process::Process(const Command& command) {
  auto arguments = command.arguments;
  auto environment = environment_of(command);
  const auto argv = pointers(arguments);
  const auto envp = pointers(environment);
  const auto out = command.out.empty() ? std::string("/dev/null") : command.out.string();
  const auto err = command.err.empty() ? std::string("/dev/null") : command.err.string();
  const auto folder = command.folder.string();
  const pid_t parent = ::getpid();

  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ > 0) return;

  constexpr int kAppend = O_WRONLY | O_CREAT | O_APPEND;
  const int in_fd = ::open("/dev/null", O_RDONLY);
  const int out_fd = ::open(out.c_str(), kAppend, 0644);
  const int err_fd = ::open(err.c_str(), kAppend, 0644);
  ::dup2(in_fd, 0);
  ::dup2(out_fd, 1);
  ::dup2(err_fd, 2);
  if (!folder.empty() && ::chdir(folder.c_str()) != 0) ::_exit(126);
  if (command.user) {  // the bare system calls: the C library's versions speak to all threads, and here is only one
    ::syscall(SYS_setgroups, 0, nullptr);
    if (::syscall(SYS_setgid, command.user->second) != 0 || ::syscall(SYS_setuid, command.user->first) != 0) ::_exit(126);
  }
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_PDEATHSIG, command.signal_if_orphaned);  // after setuid, which would forget it
  if (::getppid() != parent) ::_exit(126);
  ::execve(argv[0], argv.data(), envp.data());
  ::_exit(127);
}

Process::~Process() {
  signal(SIGKILL);
  reap(0);
}

void Process::reap(int options) {
  if (exit_code_) return;
  int status = 0;
  pid_t got = 0;
  do got = ::waitpid(pid_, &status, options);
  while (got < 0 && errno == EINTR);
  if (got == pid_) exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool Process::running() {
  reap(WNOHANG);
  return !exit_code_;
}

void Process::signal(int number) {
  if (running()) ::kill(pid_, number);
}

std::optional<int> Process::wait(std::chrono::milliseconds bound) {
  eventually([this] { return !running(); }, bound);
  return exit_code_;
}

CommandResult run(Command command) {
  TempFolder folder;
  command.out = folder.path() / "out";
  command.err = folder.path() / "err";
  Process process(command);
  const auto code = process.wait();
  const CommandResult result{code.value_or(-1), read_file(folder.path() / "out"), read_file(folder.path() / "err")};
  if (!code) throw std::runtime_error(command.arguments.front() + " did not end: " + result.out + result.err);
  return result;
}

std::optional<std::pair<uid_t, gid_t>> database_user() {
  if (::geteuid() != 0) return std::nullopt;
  const passwd* entry = ::getpwnam("postgres");
  if (entry == nullptr) throw std::runtime_error("there is no user postgres to run the database as");
  return std::pair{entry->pw_uid, entry->pw_gid};
}

std::string told_of(pid_t process, const std::string& file) {
  try {
    std::ifstream in("/proc/" + std::to_string(process) + "/" + file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  } catch (const std::ios_base::failure&) {  // opened, and gone before it was read
    return {};
  }
}

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> all;
  std::error_code gone;
  for (std::filesystem::directory_iterator task("/proc/" + std::to_string(process) + "/task", gone), end; !gone && task != end;
       task.increment(gone)) {
    std::istringstream children(told_of(process, "task/" + task->path().filename().string() + "/children"));
    for (pid_t child = 0; children >> child;) all.push_back(child);
  }
  return all;
}

}  // namespace waybill::testing
