// What a check compares before and after, from /proc and the clocks.
#include "measures.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

namespace waybill::conformance {
namespace {

namespace fs = std::filesystem;

std::int64_t nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// A small file of /proc, read with one read().
std::string proc_text(const char* name) {
  const int fd = open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::array<char, 4096> buffer{};
  const auto size = read(fd, buffer.data(), buffer.size());
  close(fd);
  return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

// Nanoseconds that this thread stood ready while others had the processor.
std::optional<std::int64_t> queued() {
  const auto text = proc_text("/proc/thread-self/schedstat");
  const auto space = text.find(' ');
  if (space == std::string::npos) return std::nullopt;
  return std::strtoll(text.c_str() + space, nullptr, 10);
}

std::uint64_t number_after(const std::string& text, std::string_view key) {
  const auto at = text.find(key);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + key.size(), nullptr, 10);
}

std::chrono::milliseconds to_ms(std::int64_t ns) { return std::chrono::milliseconds(ns > 0 ? ns / 1'000'000 : 0); }

}  // namespace

std::set<std::string> open_descriptors() {
  std::set<std::string> out;
  std::error_code error;
  for (fs::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    const auto to = fs::read_symlink(entry->path(), gone).string();
    if (to.find("/proc/") == 0 && to.find("/fd") != std::string::npos) continue;  // the one that lists
    out.insert(entry->path().filename().string() + " -> " + to);
  }
  return out;
}

std::size_t thread_count() {
  std::size_t count = 0;
  std::error_code error;
  for (fs::directory_iterator entry("/proc/self/task", error), end; !error && entry != end; entry.increment(error)) ++count;
  return count;
}

std::size_t remaining_thread_count(std::size_t wanted) {
  auto count = thread_count();
  for (int round = 0; round < 500 && count > wanted; ++round) {
    usleep(1000);  // the kernel offers no condition to wait on for the end of a thread
    count = thread_count();
  }
  return count;
}

std::optional<std::uint64_t> reads_and_writes() {
  if (kSanitized) return std::nullopt;  // sanitizers read and write on their own account
  static std::uint64_t asked = 0;
  const auto text = proc_text("/proc/self/io");
  if (text.find("syscr: ") == std::string::npos) return std::nullopt;
  return number_after(text, "syscr: ") + number_after(text, "syscw: ") - asked++;
}

std::size_t allocated_bytes() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

Stopwatch::Stopwatch() : wall_(0), cpu_(0), queued_(queued()) {
  cpu_ = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  wall_ = nanoseconds(CLOCK_MONOTONIC);
}

std::chrono::milliseconds Stopwatch::computed() const { return to_ms(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu_); }

std::chrono::milliseconds Stopwatch::waited() const {
  const auto wall = nanoseconds(CLOCK_MONOTONIC) - wall_;
  const auto cpu = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu_;
  const auto queued_now = queued();
  if (!queued_ || !queued_now) return std::chrono::milliseconds(0);
  return to_ms(wall - cpu - (*queued_now - *queued_));
}

namespace {

unsigned present_umask() {
  const auto mask = umask(0);
  umask(mask);
  return mask;
}

std::string present_folder() {
  std::error_code gone;
  return fs::current_path(gone).string();
}

}  // namespace

SharedState::SharedState()
    : streams_{{{STDOUT_FILENO, -1, -1, "standard output"}, {STDERR_FILENO, -1, -1, "standard error"}}},
      folder_(present_folder()),
      umask_(present_umask()) {
  std::fflush(nullptr);
  for (auto& stream : streams_) {
    stream.kept = fcntl(stream.own, F_DUPFD_CLOEXEC, 3);
    stream.file = memfd_create("output", MFD_CLOEXEC);
    if (stream.kept >= 0 && stream.file >= 0) dup2(stream.file, stream.own);
  }
}

SharedState::~SharedState() { changes(); }

std::vector<std::string> SharedState::changes() {
  std::vector<std::string> found;
  if (std::exchange(is_over_, true)) return found;
  std::fflush(nullptr);
  for (const auto& stream : streams_) {
    const auto size = stream.file >= 0 ? lseek(stream.file, 0, SEEK_END) : 0;
    if (size > 0) found.push_back("wrote " + std::to_string(size) + " byte(s) to " + stream.name);
    if (stream.kept >= 0) dup2(stream.kept, stream.own);
    close(stream.kept);
    close(stream.file);
  }
  if (const auto now = present_folder(); now != folder_) {
    found.push_back("changed the working directory to " + now);
    std::error_code gone;
    fs::current_path(folder_, gone);
  }
  if (present_umask() != umask_) {
    found.emplace_back("changed the umask");
    umask(umask_);
  }
  return found;
}

SideEffects::SideEffects() : descriptors_(open_descriptors()), threads_(thread_count()), io_(reads_and_writes()) {}

std::string SideEffects::left(bool may_start_threads) const {
  for (const auto& one : open_descriptors())
    if (descriptors_.count(one) == 0) return "left the descriptor " + one + " open";
  if (may_start_threads) return {};
  const auto threads = remaining_thread_count(threads_);
  return threads > threads_ ? "left " + std::to_string(threads - threads_) + " thread(s) running" : "";
}

std::string SideEffects::any(bool may_start_threads) const {
  const auto io = reads_and_writes();
  const auto stayed = left(may_start_threads);
  if (!stayed.empty() || !io || !io_ || *io <= *io_) return stayed;
  return "called read() or write() " + std::to_string(*io - *io_) + " time(s)";
}

}  // namespace waybill::conformance
