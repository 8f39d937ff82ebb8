// A plugin's process as its host sees it.
#include "plugin_process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>

#include "base/owned_descriptor.h"
#include "base/utf8.h"
#include "plugin_protocol/isolation_words.h"
#include "plugin_protocol/messages.h"
#include "plugin_protocol/receive_soon.h"

namespace waybill::plugin_process {
namespace {

constexpr std::chrono::milliseconds kLookEvery{1000};
constexpr int kReadsWithin = 10'000;  // milliseconds: a process that asks must read what it is answered
constexpr std::size_t kQuestionBytesAtOnce = std::size_t{64} << 10;
constexpr std::chrono::milliseconds kWaitsFor{5};    // for one more question
constexpr std::chrono::milliseconds kStaysFor{100};  // with questions, before it looks at anything else
constexpr std::chrono::seconds kLinesPer{10};
constexpr std::size_t kMostLines = 100;  // told in that time, so that a plugin cannot fill the log
constexpr std::size_t kMaxLine = 1000;

std::string message_of(int error) { return std::generic_category().message(error); }

tl::unexpected<Error> refuse(const char* what) {
  return fail(Error::Kind::unavailable,
              std::string("a process for a plugin cannot be started: ") + what + ": " + message_of(errno));
}

bool make_pair(OwnedDescriptor& ours, OwnedDescriptor& theirs) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  ours = OwnedDescriptor(ends[0]);
  theirs = OwnedDescriptor(ends[1]);
  return true;
}

bool make_pipe(OwnedDescriptor& from, OwnedDescriptor& to) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  from = OwnedDescriptor(ends[0]);
  to = OwnedDescriptor(ends[1]);
  return fcntl(from.get(), F_SETFL, O_NONBLOCK) == 0;
}

// What the process is started with.
class SpawnTerms {
 public:
  SpawnTerms() {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_addopen(&files_, 0, "/dev/null", O_RDONLY, 0);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnTerms() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnTerms(const SpawnTerms&) = delete;
  SpawnTerms& operator=(const SpawnTerms&) = delete;

  // From a copy whose number is out of the way, since this one's may be another's place.
  void give(int descriptor, int place) {
    constexpr int kOutOfTheWay = 64;
    copies_.emplace_back(fcntl(descriptor, F_DUPFD_CLOEXEC, kOutOfTheWay));
    are_copied_ = are_copied_ && copies_.back().get() >= 0;
    posix_spawn_file_actions_adddup2(&files_, copies_.back().get(), place);
    first_other_ = std::max(first_other_, place + 1);
  }
  // The error's number; 0: none.
  int spawn(const std::filesystem::path& program, std::vector<std::string> words, std::vector<std::string> variables,
            pid_t& pid) {
    if (!are_copied_) return EMFILE;
    posix_spawn_file_actions_addclosefrom_np(&files_, first_other_);
    return posix_spawn(&pid, program.c_str(), &files_, &attributes_, pointers_to(words).data(), pointers_to(variables).data());
  }

 private:
  static std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (auto& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
  }

  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
  std::vector<OwnedDescriptor> copies_;
  bool are_copied_ = true;
  int first_other_ = 0;
};

// Little of the host's: a secret may stand in it.
std::vector<std::string> environment() {
  std::vector<std::string> words{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent"};
  for (const char* name : {"TZ", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"})
    if (const char* value = std::getenv(name); value != nullptr) words.push_back(std::string(name) + "=" + value);
  return words;
}

// "TypeError: ...", "Error [ERR_...]: ..."
bool names_error(std::string_view line) {
  const auto word = line.substr(0, line.find_first_of(": ["));
  return word.ends_with("Error") && word.size() < line.size();
}

// A number of /proc/PID/status, such as that of "Threads:"; 0 if it is not there.
std::size_t number_in(const std::string& status, std::string_view name) {
  const auto at = status.find(name);
  return at == std::string::npos ? 0 : std::strtoull(status.c_str() + at + name.size(), nullptr, 10);
}

}  // namespace

std::filesystem::path plugin_host_program() {
  std::error_code unknown;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
  const auto built = here / "waybill-plugin-host";
  return std::filesystem::exists(built, unknown) ? built : here.parent_path() / "lib/waybill/waybill-plugin-host";
}

std::string Exit::words() const {
  std::string words;
  if (!why.empty())
    words = "killed: " + why;
  else if (signal != 0)
    words = std::string("killed by ") +
            (sigabbrev_np(signal) != nullptr ? std::string("SIG") + sigabbrev_np(signal) : "signal " + std::to_string(signal));
  else
    words = "ended with exit code " + std::to_string(code);
  if (!last.empty()) words += "; its last line: " + last;
  return words;
}

Result<std::unique_ptr<Process>> Process::start(const ProcessSpec& spec) {
  std::unique_ptr<Process> process(new Process);
  std::promise<Result<void>> started;
  auto result = started.get_future();
  process->thread_ = std::thread([self = process.get(), &spec, &started] {
    // The kernel kills the process when the thread that started it ends: so that is the one that waits for its end.
    auto spawned = self->spawn(spec);
    const bool ok = spawned.has_value();
    started.set_value(std::move(spawned));
    if (ok) self->serve();
  });
  auto spawned = result.get();
  TRY(spawned);
  return process;
}

Result<void> Process::make_page(OwnedDescriptor& page) {
  page = OwnedDescriptor(memfd_create("waybill-page", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (page.get() < 0 || ftruncate(page.get(), kPageBytes) != 0) return refuse("no memory to share");
  // A page that the process could shorten would be no memory any more for this one, which reads it.
  if (fcntl(page.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return refuse("no memory to share");
  void* const mapped = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, page.get(), 0);
  if (mapped == MAP_FAILED) return refuse("no memory to share");
  page_ = new (mapped) Page;
  return {};
}

Result<void> Process::spawn(const ProcessSpec& spec) {
  if (spec.veto)
    if (auto why = spec.veto(); !why.empty()) return fail(Error::Kind::unavailable, std::move(why));
  isolation_ = spec.isolation;
  OwnedDescriptor stream, their_stream, questions, their_questions, page, lines, their_lines;
  if (!make_pair(stream, their_stream) || !make_pair(questions, their_questions) || fcntl(stream.get(), F_SETFL, O_NONBLOCK) != 0)
    return refuse("no sockets");
  if (!make_pipe(lines, their_lines)) return refuse("no pipe");
  TRY(make_page(page));

  SpawnTerms terms;
  for (const int place : {STDOUT_FILENO, STDERR_FILENO}) terms.give(their_lines.get(), place);
  terms.give(their_stream.get(), kStreamDescriptor);
  terms.give(their_questions.get(), kQuestionDescriptor);
  terms.give(page.get(), kPageDescriptor);
  if (spec.library >= 0) terms.give(spec.library, kLibraryDescriptor);
  std::vector<std::string> words{"waybill-plugin-host", spec.plugin, std::to_string(getpid())};
  for (auto& word : words_of(spec.isolation)) words.push_back(std::move(word));
  words.emplace_back("--");
  if (!spec.command.empty()) words.push_back(spec.folder.empty() ? "/" : spec.folder.string());
  words.insert(words.end(), spec.command.begin(), spec.command.end());
  if (const int error = terms.spawn(spec.program, std::move(words), environment(), pid_); error != 0) {
    errno = error;
    return refuse(spec.program.c_str());
  }
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (pidfd_ < 0) {
    const int why = errno;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    errno = why;
    return refuse("its end cannot be seen");
  }
  const timeval patience{0, std::chrono::microseconds(kWaitsFor).count()};
  setsockopt(questions.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  stream_ = stream.release();
  questions_ = questions.release();
  lines_ = lines.release();
  return {};
}

Process::~Process() {
  stop_listening();
  if (pid_ > 0) kill("it is not needed any more");
  if (thread_.joinable()) thread_.join();
  for (const int fd : {pidfd_, stream_, questions_, lines_})
    if (fd >= 0) close(fd);
  if (page_ != nullptr) munmap(page_, kPageBytes);
}

void Process::kill(std::string_view why) {
  const std::lock_guard lock(mutex_);
  if (is_reaped_ || pid_ <= 0) return;
  if (!was_killed_) why_killed_ = why;
  was_killed_ = true;
  ::kill(pid_, SIGKILL);
}

bool Process::wait_for_end(Millis within) const {
  pollfd ended{pidfd_, POLLIN, 0};
  return poll(&ended, 1, static_cast<int>(within.count())) > 0;
}

void Process::listen(Listener listener) {
  const std::lock_guard lock(listener_mutex_);
  listener_ = std::move(listener);
  if (!ended_ || told_ || !listener_.ended) return;
  told_ = true;
  listener_.ended(exit_);
}

void Process::stop_listening() {
  const std::lock_guard lock(listener_mutex_);
  listener_ = {};
}

void Process::serve() {
  auto looked = std::chrono::steady_clock::now();
  for (bool asks = true;;) {
    std::array<pollfd, 3> wanted{{{pidfd_, POLLIN, 0}, {lines_, POLLIN, 0}, {asks ? questions_ : -1, POLLIN, 0}}};
    const int ready = poll(wanted.data(), wanted.size(), static_cast<int>(kLookEvery.count()));
    if (ready < 0 && errno != EINTR) break;
    if (const auto now = std::chrono::steady_clock::now(); now - looked >= kLookEvery) {
      looked = now;
      look_at_limits();
    }
    if (wanted[2].revents != 0) asks = answer_questions();
    if (wanted[1].revents != 0) take_lines();
    if (wanted[0].revents != 0) break;
  }
  reap();
}

// False: nothing more is asked.
bool Process::answer_questions() {
  Frames frames;
  std::string answer;
  const auto send_all = [&](std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = send(questions_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
        continue;
      }
      if (errno == EINTR) continue;
      pollfd writable{questions_, POLLOUT, 0};
      if (errno != EAGAIN || poll(&writable, 1, kReadsWithin) <= 0) return false;
    }
    return true;
  };
  const auto lost = [this](const char* why) {
    kill(why);
    return false;
  };
  // Who has asked is likely to ask again: for a moment this thread waits for that alone, which costs one system call less.
  const auto until = std::chrono::steady_clock::now() + kStaysFor;
  for (;;) {
    const auto size = receive_soon(questions_, frames.room(kQuestionBytesAtOnce), kQuestionBytesAtOnce);
    if (size == 0) return false;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) {
      if (frames.is_empty()) return true;
      pollfd readable{questions_, POLLIN, 0};
      if (poll(&readable, 1, kReadsWithin) <= 0) return lost("it asks half a question");
      continue;
    }
    if (size < 0) return false;
    frames.grew_by(static_cast<std::size_t>(size));
    for (Frame frame;;) {
      const auto next = frames.next(frame);
      if (next == Frames::Next::more) break;
      answer.clear();
      const std::lock_guard lock(listener_mutex_);
      if (next == Frames::Next::fault || (listener_.answer && !listener_.answer(frame.kind, frame.body, answer)))
        return lost("it asks what is no question");
      if (answer.empty()) put_frame(answer, Answer{.status = -1, .values = {}});
      if (!send_all(answer)) return lost("it does not read what it is answered");
    }
    if (frames.is_empty() && std::chrono::steady_clock::now() >= until) return true;
  }
}

void Process::take_lines() {
  std::array<char, 4096> buffer{};
  const auto size = read(lines_, buffer.data(), buffer.size());
  if (size <= 0) return;
  for (const char c : std::string_view(buffer.data(), static_cast<std::size_t>(size))) {
    if (c != '\n') {
      if (half_line_.size() < kMaxLine) half_line_ += c;
      continue;
    }
    if (half_line_.empty()) continue;
    last_line_ = clean_text(half_line_, kMaxLine);
    half_line_.clear();
    if (names_error(last_line_)) last_error_ = last_line_;
    const auto now = std::chrono::steady_clock::now();
    if (now - lines_since_ >= kLinesPer) {
      lines_since_ = now;
      lines_told_ = 0;
    }
    if (++lines_told_ > kMostLines) continue;  // the last one is kept all the same
    const std::lock_guard lock(listener_mutex_);
    if (listener_.line) listener_.line(last_line_);
  }
}

// What limits of its own process cannot hold: a thread more than it may have, and memory that is shared.
void Process::look_at_limits() {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
  const std::string status{std::istreambuf_iterator<char>(file), {}};
  const auto kilobytes = number_in(status, "RssAnon:") + number_in(status, "RssShmem:");
  if (number_in(status, "Threads:") > isolation_.threads)
    kill("it has more than " + std::to_string(isolation_.threads) + " threads");
  else if (kilobytes > isolation_.memory_bytes >> 10)
    kill("it uses more than " + std::to_string(isolation_.memory_bytes >> 20) + " MiB of memory");
}

void Process::reap() {
  siginfo_t seen{};
  while (waitid(P_PID, static_cast<id_t>(pid_), &seen, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  pollfd more{lines_, POLLIN, 0};
  for (int i = 0; i < 64 && poll(&more, 1, 0) > 0 && (more.revents & POLLIN) != 0; ++i) take_lines();
  if (!half_line_.empty()) last_line_ = clean_text(half_line_, kMaxLine);
  if (last_line_.starts_with("Node.js v") && !last_error_.empty()) last_line_ = last_error_;  // it stands below the error
  int status = 0;
  Exit exit;
  {
    const std::lock_guard lock(mutex_);  // nobody signals a number that another process may have by now
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    is_reaped_ = true;
    if (was_killed_) exit.why = why_killed_;
  }
  exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  exit.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  exit.last = std::move(last_line_);
  if (exit.signal != SIGKILL) exit.why.clear();  // it ended by itself before that
  const std::lock_guard lock(listener_mutex_);
  exit_ = std::move(exit);
  ended_ = true;
  if (!listener_.ended) return;
  told_ = true;
  listener_.ended(exit_);
}

}  // namespace waybill::plugin_process
