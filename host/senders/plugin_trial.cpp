// Forks a child, which tells over a pipe which file it is loading; where that ends, the file is named.
//
// It forks without exec, so that nothing is started twice and a trial costs milliseconds. Plugins are loaded before a host starts
// its threads.
#include "senders/plugin_trial.h"

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
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/duration.h"
#include "plugin_protocol/plugin_text.h"

namespace waybill {
namespace {

using Files = std::vector<std::filesystem::path>;
using Load = std::function<void(const std::filesystem::path&)>;

constexpr std::uint32_t kAllLoaded = ~std::uint32_t{0};
constexpr std::size_t kMaxLastWords = 300;  // bytes of what it wrote to standard error

[[noreturn]] void run_child(int pipe, int last_words, const Files& files, const std::vector<std::uint32_t>& wanted,
                            const Load& load) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  dup2(last_words, STDERR_FILENO);
  const auto tell = [pipe](std::uint32_t word) {
    if (write(pipe, &word, sizeof word) != sizeof word) _exit(1);
  };
  for (const auto index : wanted) {
    tell(index);
    load(files[index]);
  }
  tell(kAllLoaded);
  _exit(0);  // without destructors, the plugins' or ours
}

std::string words_in(int file) {
  std::string text(4096, '\0');
  const auto size = pread(file, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return clean_text(text, kMaxLastWords);
}

std::string end_of(int status) {
  if (WIFEXITED(status)) return "ended the process with exit(" + std::to_string(WEXITSTATUS(status)) + ")";
  const auto* const name = sigabbrev_np(WTERMSIG(status));
  const auto* const words = sigdescr_np(WTERMSIG(status));
  return "killed by SIG" + std::string(name ? name : "?") + ": " + (words ? words : "an unknown signal");
}

struct Fault {
  std::uint32_t file;
  std::string what;
};

// One child, from its start to its end.
class Trial {
 public:
  Trial(const Files& files, const std::vector<std::uint32_t>& wanted, const Load& load, TrialTerms terms) : terms_(terms) {
    int ends[2];
    last_words_ = memfd_create("stderr", MFD_CLOEXEC);
    if (last_words_ < 0 || pipe2(ends, O_CLOEXEC) != 0) return;
    std::fflush(nullptr);  // or the child would write it a second time
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      run_child(ends[1], last_words_, files, wanted, load);
    }
    close(ends[1]);
    pipe_ = ends[0];
    if (pid_ > 0) setpgid(pid_, pid_);
  }
  ~Trial() {
    if (pipe_ >= 0) close(pipe_);
    if (last_words_ >= 0) close(last_words_);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // None when all is well, or when nothing could be tried.
  std::optional<Fault> wait() {
    if (pid_ <= 0) return std::nullopt;
    const bool is_late = !follow();
    kill(-pid_, SIGKILL);  // with all that it has started; it has told all there is
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    if (at_ == kAllLoaded || !at_) return std::nullopt;
    auto what = is_late ? "still busy after " + format_duration(terms_.patience) : end_of(status);
    if (const auto said = words_in(last_words_); !said.empty()) what += "; it wrote: " + said;
    return Fault{*at_, std::move(what)};
  }

 private:
  // Reads until all is loaded or nobody writes any more. False: it took too long over one file.
  bool follow() {
    using Steady = std::chrono::steady_clock;
    for (auto until = Steady::now() + terms_.patience; at_ != kAllLoaded;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Steady::now()).count();
      pollfd wanted{pipe_, POLLIN, 0};
      const int ready = poll(&wanted, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return false;
      std::uint32_t word = 0;
      if (read(pipe_, &word, sizeof word) != sizeof word) return wait_for_end(until);
      at_ = word;
      until = Steady::now() + terms_.patience;
    }
    return true;
  }

  // It closed its pipe without a word: it has ended, or is about to.
  bool wait_for_end(std::chrono::steady_clock::time_point until) const {
    while (std::chrono::steady_clock::now() < until) {
      siginfo_t ended{};
      if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == pid_) return true;
      poll(nullptr, 0, 1);
    }
    return false;
  }

  const TrialTerms terms_;
  std::optional<std::uint32_t> at_;  // which file it was loading last
  pid_t pid_ = -1;
  int pipe_ = -1;
  int last_words_ = -1;
};

}  // namespace

std::vector<std::string> try_in_child(const Files& files, const Load& load, TrialTerms terms) {
  std::vector<std::string> faults(files.size());
  std::vector<std::uint32_t> wanted(files.size());
  for (std::uint32_t i = 0; i < wanted.size(); ++i) wanted[i] = i;
  while (!wanted.empty()) {
    auto fault = Trial(files, wanted, load, terms).wait();
    if (!fault) break;
    faults[fault->file] = std::move(fault->what);
    std::erase(wanted, fault->file);
  }
  return faults;
}

}  // namespace waybill
