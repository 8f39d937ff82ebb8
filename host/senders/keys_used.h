// What of an attempt goes on record as a proof: the hash of the bytes that it sent, and the keys that signed them.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/hex.h"
#include "domain/idempotency.h"
#include "domain/job.h"

namespace waybill {

// "": there is too much of it for the strand to go through it a second time.
inline std::string hash_of_sent(std::string_view bytes) {
  constexpr std::size_t kMaxHashed = 8 << 20;
  return bytes.size() > kMaxHashed ? std::string() : to_hex(as_view(sha256(bytes)));
}

// The ids of the keys with which something was signed for a job, until the job's attempt ends. Safe from any thread.
class KeysUsed {
 public:
  void note(const Job* job, std::string ids) {
    if (job == nullptr) return;
    const std::lock_guard lock(mutex_);
    ids_[job] = std::move(ids);
    any_.store(true, std::memory_order_relaxed);
  }
  // What was noted last; "": nothing.
  std::string take(const Job* job) {
    if (!any_.load(std::memory_order_relaxed)) return {};
    const std::lock_guard lock(mutex_);
    auto node = ids_.extract(job);
    any_.store(!ids_.empty(), std::memory_order_relaxed);
    return node ? std::move(node.mapped()) : std::string();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const Job*, std::string> ids_;
  std::atomic<bool> any_{false};
};

}  // namespace waybill
