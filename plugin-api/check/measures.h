// What a check compares before and after: descriptors, threads, input and output, time, memory of this process.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace waybill::conformance {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;  // memory is not what it is elsewhere
#else
inline constexpr bool kSanitized = false;
#endif

// Threads of this process that are not the plugin's.
#if defined(__SANITIZE_THREAD__)
inline constexpr std::size_t kOwnThreads = 2;
#else
inline constexpr std::size_t kOwnThreads = 1;
#endif

std::set<std::string> open_descriptors();  // "7 -> /etc/passwd"
std::size_t thread_count();
// The count after a moment for threads that are about to end, at most `wanted` if they do.
std::size_t remaining_thread_count(std::size_t wanted);
// The number of read() and write() calls so far, without those of this function; none where the kernel does not say.
std::optional<std::uint64_t> reads_and_writes();
std::size_t allocated_bytes();

// Measures its thread: the time that it computed, and the time that it waited for anything but a processor.
class Stopwatch {
 public:
  Stopwatch();
  std::chrono::milliseconds computed() const;
  std::chrono::milliseconds waited() const;  // 0 where the kernel does not say how long the thread was queued

 private:
  std::int64_t wall_, cpu_;
  std::optional<std::int64_t> queued_;
};

// What a function does beside its work, from the construction of this on.
class SideEffects {
 public:
  SideEffects();
  // What it left: a new descriptor or a new thread; "" if nothing.
  std::string left(bool may_start_threads = false) const;
  // The same, or that it read or wrote; "" if nothing.
  std::string any(bool may_start_threads = false) const;

 private:
  std::set<std::string> descriptors_;
  std::size_t threads_;
  std::optional<std::uint64_t> io_;
};

// What belongs to the whole process, from the construction of this on: its output, working directory and umask. Until the end of
// this its output goes nowhere.
class SharedState {
 public:
  SharedState();
  ~SharedState();
  SharedState(const SharedState&) = delete;
  SharedState& operator=(const SharedState&) = delete;
  // What was done to it, each "wrote 12 bytes to standard output" or the like. Puts everything back.
  std::vector<std::string> changes();

 private:
  struct Stream {
    int own, kept, file;
    const char* name;
  };
  std::array<Stream, 2> streams_;
  std::string folder_;
  unsigned umask_;
  bool is_over_ = false;
};

}  // namespace waybill::conformance
