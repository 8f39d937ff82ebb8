// Findings against findings.
#include "limits/host_reach.h"

#include <algorithm>

namespace waybill {

std::optional<Answers::Unreached> HostReach::unreached(OrgId org, const std::string& target) const {
  const auto known = answers_.unreached(org, target);
  return known && known->since > recovered_at_ && known->last > tries_since_ ? known : std::nullopt;
}

// Once cut off, it stays so until recovered() or tries_anyway().
void HostReach::observe(const Cooldowns& cooldowns) {
  const std::lock_guard lock(mutex_);
  doubts_.clear();
  for (const auto& one : cooldowns.of_others) doubts_.emplace(Key{one.org, one.target}, one);
  if (cut_off_) return;
  CutOff found;
  for (const auto& one : cooldowns.own) {
    const auto known = unreached(one.org, one.target);
    if (one.is_refuted && known && !known->others_answered) found.unreachable.push_back(one);
  }
  if (found.unreachable.empty()) return;
  found.since = std::min_element(found.unreachable.begin(), found.unreachable.end(), [](const auto& a, const auto& b) {
                  return a.since < b.since;
                })->since;
  cut_off_ = std::move(found);
  is_cut_off_ = true;
}

void HostReach::ended(std::span<const Finished> settled) {
  const std::lock_guard lock(mutex_);
  if (doubts_.empty()) return;
  for (const auto& one : settled) {
    if (!one.is_answered()) continue;
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

bool HostReach::cannot_connect(OrgId org, const std::string& target) const {
  const std::lock_guard lock(mutex_);
  const auto known = unreached(org, target);
  return known && !known->others_connected;
}

std::optional<HostReach::CutOff> HostReach::cut_off() const {
  const std::lock_guard lock(mutex_);
  return cut_off_;
}

void HostReach::recovered(Clock::Monotonic at) {
  tries_anyway(at);
  const std::lock_guard lock(mutex_);
  recovered_at_ = at;
}

void HostReach::tries_anyway(Clock::Monotonic at) {
  const std::lock_guard lock(mutex_);
  tries_since_ = at;
  cut_off_.reset();
  is_cut_off_ = false;
}

}  // namespace waybill
