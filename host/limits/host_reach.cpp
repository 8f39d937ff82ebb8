// Findings against findings.
#include "limits/host_reach.h"

#include <algorithm>

namespace waybill {

// Once cut off, it stays so until recovered().
void HostReach::observe(const Cooldowns& cooldowns) {
  const std::lock_guard lock(mutex_);
  doubts_.clear();
  for (const auto& one : cooldowns.of_others) doubts_.emplace(Key{one.org, one.target}, one);
  if (cut_off_) return;
  CutOff found;
  for (const auto& one : cooldowns.own)
    if (one.is_refuted && answered_at_ < one.since) found.unreachable.push_back(one);
  if (found.unreachable.empty()) return;
  found.since = std::min_element(found.unreachable.begin(), found.unreachable.end(), [](const auto& a, const auto& b) {
                  return a.since < b.since;
                })->since;
  cut_off_ = std::move(found);
  is_cut_off_ = true;
}

void HostReach::ended(std::span<const Finished> settled) {
  const std::lock_guard lock(mutex_);
  for (const auto& one : settled) {
    if (!one.is_answered()) continue;
    answered_at_ = std::max(answered_at_, one.finished_at);
    if (doubts_.empty()) continue;
    const auto doubt = doubts_.find({one.job.org, one.job.contract->cooldown_key()});
    if (doubt == doubts_.end() || one.finished_at <= doubt->second.since) continue;
    refuted_.push_back(doubt->second);
    doubts_.erase(doubt);
  }
}

std::vector<HostFinding> HostReach::take_refuted() {
  const std::lock_guard lock(mutex_);
  return std::exchange(refuted_, {});
}

Timestamp HostReach::answered_at() const {
  const std::lock_guard lock(mutex_);
  return answered_at_;
}

std::optional<HostReach::CutOff> HostReach::cut_off() const {
  const std::lock_guard lock(mutex_);
  return cut_off_;
}

void HostReach::recovered(Timestamp at) {
  const std::lock_guard lock(mutex_);
  answered_at_ = std::max(answered_at_, at);
  cut_off_.reset();
  is_cut_off_ = false;
}

}  // namespace waybill
