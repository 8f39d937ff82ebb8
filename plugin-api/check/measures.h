// What a check compares before and after: descriptors, threads, input and output, time, memory of this process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

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
// Waits a moment for threads that are about to end; the count then.
std::size_t settled_thread_count(std::size_t wanted);
// read() and write() calls so far, those of asking not counted; none where the kernel does not say.
std::optional<std::uint64_t> reads_and_writes();
std::size_t allocated_bytes();

// How long the thread that made it took: computing, and waiting for anything but a processor.
class Stopwatch {
 public:
  Stopwatch();
  std::chrono::milliseconds computed() const;
  std::chrono::milliseconds waited() const;  // 0 where the kernel does not tell how long others kept the processor

 private:
  std::int64_t wall_, cpu_;
  std::optional<std::int64_t> queued_;
};

// What a function leaves behind or does on the side.
class Quiet {
 public:
  Quiet();
  // "" if nothing has stayed since: no new descriptor, no new thread.
  std::string left(bool may_start_threads = false) const;
  // "" if nothing happened at all: nothing was read or written either.
  std::string noise(bool may_start_threads = false) const;

 private:
  std::set<std::string> descriptors_;
  std::size_t threads_;
  std::optional<std::uint64_t> io_;
};

}  // namespace waybill::conformance
