// Keeping count of each claim's deliveries until the last is settled.
#include "limits/claim_ledger.h"

#include <algorithm>
#include <utility>

namespace waybill {

void ClaimLedger::opened(Shard shard, ClaimToken token, std::size_t rows) {
  const std::lock_guard lock(mutex_);
  if (rows > 0) open_[token] = {shard, rows, false};
}

void ClaimLedger::settled(const std::vector<Finished>& batch, const std::vector<ClaimToken>& unwritten) {
  std::unordered_map<ClaimToken, std::size_t> of_claim;
  for (const auto& one : batch) ++of_claim[one.job.token];
  const std::lock_guard lock(mutex_);
  for (const auto token : unwritten)
    if (const auto open = open_.find(token); open != open_.end()) open->second.stays = true;
  for (const auto& [token, count] : of_claim) {
    const auto open = open_.find(token);
    if (open == open_.end() || (open->second.left -= std::min(open->second.left, count)) > 0) continue;
    if (!open->second.stays) done_[open->second.shard].push_back(token);
    open_.erase(open);
  }
}

std::map<Shard, std::vector<ClaimToken>> ClaimLedger::open() const {
  std::map<Shard, std::vector<ClaimToken>> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [token, claim] : open_) all[claim.shard].push_back(token);
  return all;
}

DoneClaims ClaimLedger::take_done(Shard shard) {
  const std::lock_guard lock(mutex_);
  return std::exchange(done_[shard], {});
}

void ClaimLedger::deleted(Shard shard, const DoneClaims& done) {
  const std::lock_guard lock(mutex_);
  for (const auto token : done) deleted_.emplace_back(shard, token);
  if (deleted_.size() > kRemembered) deleted_.erase(deleted_.begin(), deleted_.end() - kRemembered);
}

void ClaimLedger::done_again() {
  const std::lock_guard lock(mutex_);
  for (const auto& [shard, token] : std::exchange(deleted_, {})) done_[shard].push_back(token);
}

void ClaimLedger::put_back_done(Shard shard, const DoneClaims& done) {
  const std::lock_guard lock(mutex_);
  done_[shard].insert(done_[shard].end(), done.begin(), done.end());
}

void ClaimLedger::unconfirmed(UnconfirmedClaim claim) {
  const std::lock_guard lock(mutex_);
  unconfirmed_.push_back(claim);
}

std::optional<ClaimLedger::UnconfirmedClaim> ClaimLedger::any_unconfirmed() const {
  const std::lock_guard lock(mutex_);
  return unconfirmed_.empty() ? std::nullopt : std::optional(unconfirmed_.back());
}

void ClaimLedger::given_back(ClaimToken token) {
  const std::lock_guard lock(mutex_);
  std::erase_if(unconfirmed_, [&](const UnconfirmedClaim& claim) { return claim.token == token; });
}

}  // namespace waybill
