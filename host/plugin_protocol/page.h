// The page of memory that a plugin's process shares with its host: which call its code is inside of, and since when. What was
// inside when the process died is the one to blame.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace waybill::plugin_process {

inline constexpr std::size_t kPageBytes = 4096;

// Written by the process, read by the host, which trusts it with nothing but the process's own calls.
struct Page {
  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  std::atomic<std::uint64_t> call{0};   // 0: for no call
  std::atomic<std::int64_t> since{0};   // CLOCK_MONOTONIC, nanoseconds; 0: outside
  std::atomic<std::uint64_t> begun{0};  // how many Begins it has taken up

  struct Inside {
    std::uint64_t call;
    std::int64_t since;
  };
  std::optional<Inside> inside() const {
    const auto from = since.load(std::memory_order_acquire);
    const auto in = call.load(std::memory_order_acquire);
    if (from == 0 || since.load(std::memory_order_relaxed) != from) return std::nullopt;
    return Inside{in, from};
  }
  void enter(std::uint64_t into) {
    call.store(into, std::memory_order_release);
    since.store(now(), std::memory_order_release);
  }
  void leave() { since.store(0, std::memory_order_release); }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(Page) <= kPageBytes);

}  // namespace waybill::plugin_process
