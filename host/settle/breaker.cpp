// What the breaker remembers of each target, and when it opens.
#include "settle/breaker.h"

#include <algorithm>

#include "domain/decide.h"

namespace waybill {
namespace {

bool is_watched(const Finished& finished) {
  return finished.how == Finished::How::attempted && !finished.job.contract->is_of_channel();
}

}  // namespace

void FailureBreaker::judge(std::vector<Finished>& batch) {
  for (auto& finished : batch)
    if (is_watched(finished)) note(finished, may_blame_target(*finished.outcome));
  for (auto& finished : batch) {
    if (!is_watched(finished) || !may_blame_target(*finished.outcome)) continue;
    if (finished.job.outage_since || is_open(finished)) finished.outcome->scope = Scope::whole_target;
  }
}

// A target is remembered from its first failure until nothing of what is remembered failed.
void FailureBreaker::note(const Finished& finished, bool failed) {
  if (targets_.empty() && !failed) return;
  const Timestamp now = finished.finished_at;
  if (now - dropped_at_ > kWindow) drop_old(now);
  const Key key{finished.job.org, finished.job.contract->cooldown_key()};
  if (!failed && !targets_.contains(key)) return;
  Recent& recent = targets_[key];
  std::erase_if(recent, [&](const Ended& one) { return one.delivery == finished.job.delivery || now - one.at > kWindow; });
  recent.push_back({finished.job.delivery, now, failed});
  if (recent.size() > kSample) recent.erase(recent.begin());
  if (std::none_of(recent.begin(), recent.end(), [](const Ended& one) { return one.failed; })) targets_.erase(key);
}

bool FailureBreaker::is_open(const Finished& finished) const {
  const auto found = targets_.find({finished.job.org, finished.job.contract->cooldown_key()});
  if (found == targets_.end() || found->second.size() < kFloor) return false;
  const auto failed = std::count_if(found->second.begin(), found->second.end(), [](const Ended& one) { return one.failed; });
  return 2 * static_cast<std::size_t>(failed) >= found->second.size();
}

void FailureBreaker::drop_old(Timestamp now) {
  dropped_at_ = now;
  std::erase_if(targets_, [&](const auto& one) { return now - one.second.back().at > kWindow; });
}

}  // namespace waybill
