// Answers are counted for each target; an outage takes away what was counted.
#include "settle/lone_refusals.h"

#include <algorithm>

#include "domain/decide.h"

namespace waybill {
namespace {

constexpr std::size_t kEach = 100;                 // a refusal for so many answers
constexpr std::size_t kMostThrough = 500;          // that are counted
constexpr std::size_t kMostTargets = 4096;         // beyond this, those without an answer of late are dropped
constexpr auto kOfLate = std::chrono::seconds(2);  // an older answer says nothing of the destination's state

}  // namespace

std::unordered_set<const Finished*> LoneRefusals::of(std::span<const Finished> batch) {
  std::unordered_set<const Finished*> lone;
  const Contract* contract = nullptr;
  Target* target = nullptr;
  for (const auto& finished : batch) {
    if (finished.how != Finished::How::attempted) continue;
    if (finished.job.contract.get() != contract) {  // jobs of one route come one after the other
      contract = finished.job.contract.get();
      target = &targets_[{finished.job.org, contract->cooldown_key()}];
    }
    if (blames_target(*finished.outcome)) {
      if (passes_over(*target, finished)) lone.insert(&finished);
    } else if (clears_target(*finished.outcome)) {
      target->through = std::min(target->through + 1, kMostThrough);
      target->refused_last = false;
      target->last_through = std::max(target->last_through, finished.finished_at);
    }
  }
  if (targets_.size() > kMostTargets && !batch.empty())
    std::erase_if(targets_,
                  [latest = batch.back().finished_at](const auto& one) { return one.second.last_through + kOfLate < latest; });
  return lone;
}

bool LoneRefusals::passes_over(Target& target, const Finished& refusal) {
  const bool is_lone = target.through >= kEach && !target.refused_last && !refusal.outcome->retry_after &&
                       !refusal.job.outage_since && refusal.finished_at <= target.last_through + kOfLate;
  target.refused_last = true;
  target.through = is_lone ? target.through - kEach : 0;
  return is_lone;
}

}  // namespace waybill
