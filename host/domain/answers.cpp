// Answers against silence.
#include "domain/answers.h"

#include <algorithm>

#include "domain/decide.h"

namespace waybill {
namespace {

constexpr auto kKept = std::chrono::hours(24);  // as long as outages are kept

}  // namespace

void Answers::note(std::span<const Finished> ended) {
  const std::lock_guard lock(mutex_);
  for (const auto& one : ended) {
    const bool is_answered = one.is_answered();
    if (one.how != Finished::How::attempted || (!is_answered && !blames_target(*one.outcome))) continue;
    const auto at = host_time(one.job, one.finished_at);
    if (is_answered) {
      answered_ = std::max(answered_, std::optional(at));
      // Its connection may be as old as its beginning: from before this host lost its way, however late the answer is.
      if (!one.by_kept_connection) connected_ = std::max(connected_, std::optional(host_time(one.job, one.started_at)));
      if (silent_.empty()) continue;
    }
    const std::pair key{one.job.org, one.job.contract->cooldown_key()};
    if (is_answered) {
      const auto known = silent_.find(key);
      if (known != silent_.end() && known->second.first < at) silent_.erase(known);
    } else {
      Silence& known = silent_.try_emplace(key, Silence{at, at}).first->second;
      if (at > known.last + pause_) known = {at, at};  // others tried it meanwhile, or nobody
      known = {std::min(known.first, at), std::max(known.last, at)};
    }
  }
  if (silent_.size() > few_) forget_old();
}

void Answers::forget_old() {
  const auto now = std::max_element(silent_.begin(), silent_.end(), [](const auto& a, const auto& b) {
                     return a.second.last < b.second.last;
                   })->second.last;
  std::erase_if(silent_, [&](const auto& one) { return one.second.last < now - kKept; });
  few_ = std::max<std::size_t>(1000, 2 * silent_.size());
}

std::optional<Answers::Unreached> Answers::unreached(OrgId org, const std::string& target) const {
  const std::lock_guard lock(mutex_);
  const auto found = silent_.find({org, target});
  if (found == silent_.end()) return std::nullopt;
  const auto& [first, last] = found->second;
  return Unreached{first, last, answered_ > first, connected_ > first};
}

}  // namespace waybill
