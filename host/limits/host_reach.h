// What this host reaches, beside what others reach: whether it is cut off.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "domain/job.h"
#include "store/queue/queue_store.h"

namespace waybill {

// A host is cut off when another one has had an answer from a target that this one found unreachable, and this one has had no
// answer from anywhere since, nor made a connection. Safe from any thread.
class HostReach {
 public:
  struct CutOff {
    Timestamp since;
    std::vector<HostFinding> unreachable;  // that others reach
  };

  void observe(const Cooldowns& cooldowns);
  void ended(std::span<const Finished> settled);
  // Findings of other hosts that answers to this one have refuted; each is told once.
  std::vector<HostFinding> take_refuted();
  Timestamp answered_at() const;
  bool is_cut_off() const { return is_cut_off_; }
  std::optional<CutOff> cut_off() const;
  void recovered(Timestamp at);  // a connection was made

 private:
  using Key = std::pair<OrgId, std::string>;

  mutable std::mutex mutex_;
  Timestamp answered_at_{};            // the last time
  std::map<Key, HostFinding> doubts_;  // of others
  std::vector<HostFinding> refuted_;
  std::optional<CutOff> cut_off_;
  std::atomic<bool> is_cut_off_ = false;  // the same, for whoever asks often
};

}  // namespace waybill
