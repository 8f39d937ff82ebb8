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

#include "domain/answers.h"
#include "domain/job.h"
#include "store/queue/queue_store.h"

namespace waybill {

// A host is cut off when another one has had an answer from a target that this one found unreachable, and this one has had no
// answer from anywhere since, nor made a connection. Safe from any thread.
class HostReach {
 public:
  explicit HostReach(const Answers& answers) : answers_(answers) {}

  struct CutOff {
    Timestamp since;
    std::vector<HostFinding> unreachable;  // that others reach
  };

  void observe(const Cooldowns& cooldowns);
  void ended(std::span<const Finished> settled);
  // The target gives no answer, and since it does not, no other has given one by a connection made for it: no sign that it is the
  // target.
  bool cannot_connect(OrgId org, const std::string& target) const;
  // Findings of other hosts that answers to this one have refuted; each is told once.
  std::vector<HostFinding> take_refuted();
  bool is_cut_off() const { return is_cut_off_; }
  std::optional<CutOff> cut_off() const;
  void recovered(Clock::Monotonic at);     // a connection was made
  void tries_anyway(Clock::Monotonic at);  // none was, but what it tries next may be answered

 private:
  using Key = std::pair<OrgId, std::string>;

  // None as well if this host was told otherwise since.
  std::optional<Answers::Unreached> unreached(OrgId org, const std::string& target) const;

  const Answers& answers_;
  mutable std::mutex mutex_;
  Clock::Monotonic recovered_at_ = Clock::Monotonic::min(), tries_since_ = Clock::Monotonic::min();
  std::map<Key, HostFinding> doubts_;  // of others
  std::vector<HostFinding> refuted_;
  std::optional<CutOff> cut_off_;
  std::atomic<bool> is_cut_off_ = false;  // the same, for whoever asks often
};

}  // namespace waybill
