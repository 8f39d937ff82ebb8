// Forks a process for each check, limits its time and memory, reads its findings from a pipe, and says how it ended.
//
// It forks without exec: every check starts from the same process, nothing is loaded twice, and a check costs a millisecond. A
// second thread could leave a lock held in the child for ever, so this process must have only one; that is asserted.
#include "isolated_check.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>

#include "measures.h"

namespace waybill::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxAtOnce = 8;           // a check that takes long mostly waits
constexpr rlim_t kMaxMemory = rlim_t{4} << 30;  // of address space, beyond what is there
constexpr int kTickMs = 20;
constexpr std::size_t kMaxLastWords = 300;

std::string without_end(std::string text) {
  const auto end = text.find_last_not_of(" \n\r\t");
  return text.substr(0, end == std::string::npos ? 0 : end + 1);
}

rlim_t address_space() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) pages = 0;
  if (file != nullptr) std::fclose(file);
  return static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

void limit(int resource, rlim_t most) {
  const rlimit limits{most, most};
  setrlimit(static_cast<__rlimit_resource_t>(resource), &limits);
}

// One check under way, seen from the process that waits.
class ChildWatch {
 public:
  ChildWatch(IsolatedCheck& check, std::chrono::milliseconds time_limit) : check_(check), time_limit_(time_limit) {
    void* const shared = mmap(nullptr, kMaxDoing + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ends[2];
    last_words_ = memfd_create("stderr", MFD_CLOEXEC);
    if (shared == MAP_FAILED || last_words_ < 0 || pipe2(ends, O_CLOEXEC) != 0)
      throw std::runtime_error("a check cannot be started: " + std::string(std::strerror(errno)));
    doing_ = static_cast<char*>(shared);
    std::fflush(nullptr);  // or the child would write it a second time
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("a check cannot be started: " + std::string(std::strerror(errno)));
    if (pid_ == 0) {
      close(ends[0]);
      run_child(ends[1]);
    }
    setpgid(pid_, pid_);
    close(ends[1]);
    pipe_ = ends[0];
    fcntl(pipe_, F_SETFL, O_NONBLOCK);
    until_ = Clock::now() + time_limit;
  }
  ChildWatch(const ChildWatch&) = delete;
  ChildWatch& operator=(const ChildWatch&) = delete;
  ~ChildWatch() {
    close(pipe_);
    close(last_words_);
    munmap(doing_, kMaxDoing + 1);
  }

  int pipe() const { return pipe_; }
  bool piped() const { return piped_; }

  // True when it has ended; the check then holds how.
  bool over() {
    read_lines();
    int status = 0;
    bool ended = waitpid(pid_, &status, WNOHANG) == pid_;
    const bool late = !ended && Clock::now() >= until_;
    if (!ended && !late) return false;
    kill(-pid_, SIGKILL);  // with all that it has started
    if (late) waitpid(pid_, &status, 0);
    read_lines();
    if (!check_.done) check_.found.push_back(how_it_ended(late, status));
    return true;
  }

 private:
  [[noreturn]] void run_child(int pipe) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(last_words_, STDERR_FILENO);
    limit(RLIMIT_CORE, 0);
    if (!kSanitized) limit(RLIMIT_AS, address_space() + kMaxMemory);
    if (kOwnThreads > 1) std::thread([] {}).join();  // brings the sanitizer's own thread before anything is counted
    Findings findings(pipe, doing_);
    check_.body(findings);
    findings.done();
    _exit(0);  // without destructors, the plugin's or ours: everything has been reported
  }

  void read_lines() {
    char buffer[4096];
    for (;;) {
      const auto size = read(pipe_, buffer, sizeof buffer);
      if (size == 0) piped_ = false;
      if (size <= 0) break;
      unread_.append(buffer, static_cast<std::size_t>(size));
    }
    for (auto end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n')) {
      take(unread_.substr(0, end));
      unread_.erase(0, end + 1);
    }
  }

  void take(const std::string& line) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || json.empty() || !json.begin().value().is_string()) return;
    const auto& key = json.begin().key();
    const auto text = json.begin().value().get<std::string>();
    if (key == kFoundKey) check_.found.push_back(text);
    if (key == kSkippedKey) check_.skipped.push_back(text);
    if (key == kTypeKey) check_.action_types.push_back(text);
    if (key == kDoneKey) check_.done = true;
  }

  std::string how_it_ended(bool late, int status) const {
    const std::string doing(doing_, strnlen(doing_, kMaxDoing));
    const auto where = doing.empty() ? "" : ", last in: " + doing;
    std::string how;
    if (late) {
      const auto ms = time_limit_.count();
      how = "still running after " + (ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms");
    } else if (WIFEXITED(status)) {
      how = "ended the process with exit(" + std::to_string(WEXITSTATUS(status)) + ")";
    } else {
      const auto* const name = sigabbrev_np(WTERMSIG(status));
      const auto* const words = sigdescr_np(WTERMSIG(status));
      how = "killed by SIG" + std::string(name ? name : "?") + ": " + (words ? words : "an unknown signal");
    }
    const auto said = last_words();
    return how + where + (said.empty() ? "" : "; standard error: " + said);
  }

  // The first lines that the process wrote to standard error: the messages of std::terminate and of sanitizers.
  std::string last_words() const {
    std::string text(4096, '\0');
    const auto size = pread(last_words_, text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    text = without_end(std::move(text));
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text.substr(0, kMaxLastWords);
  }

  IsolatedCheck& check_;
  const std::chrono::milliseconds time_limit_;
  Clock::time_point until_;
  char* doing_ = nullptr;
  int last_words_ = -1;
  int pipe_ = -1;
  bool piped_ = true;  // somebody may still write
  pid_t pid_ = -1;
  std::string unread_;
};

}  // namespace

void run_isolated(std::vector<IsolatedCheck>& checks, std::chrono::milliseconds time_limit) {
  if (!kSanitized && thread_count() != 1) throw std::logic_error("checks are forked, and must be while there is one thread");
  std::vector<std::unique_ptr<ChildWatch>> running;
  for (auto next = checks.begin(); next != checks.end() || !running.empty();) {
    while (next != checks.end() && running.size() < kMaxAtOnce)
      running.push_back(std::make_unique<ChildWatch>(*next++, time_limit));
    std::vector<pollfd> wanted;
    for (const auto& one : running)
      if (one->piped()) wanted.push_back({one->pipe(), POLLIN, 0});
    poll(wanted.data(), wanted.size(), wanted.size() == running.size() ? kTickMs : 1);
    std::erase_if(running, [](const auto& one) { return one->over(); });
  }
}

}  // namespace waybill::conformance
