// The trial of suspects, a half at a time.
#include "plugin_process/suspects.h"

#include <algorithm>

namespace waybill::plugin_process {
namespace {

constexpr int kDeathsAlone = 2;  // one may be that of a call that is over
constexpr std::chrono::milliseconds kLeastTrial{200};

}  // namespace

bool Suspects::may_begin(CallId call) {
  if (!is_any() || trial_.contains(call) || cleared_.contains(call)) return true;
  if (std::find(held_.begin(), held_.end(), call) == held_.end()) held_.push_back(call);
  return false;
}

void Suspects::ended(CallId call) {
  trial_.erase(call);
  cleared_.erase(call);
  if (const auto held = std::find(held_.begin(), held_.end(), call); held != held_.end()) {
    if (static_cast<std::size_t>(held - held_.begin()) < rest_) --rest_;
    held_.erase(held);
  }
  alone_.erase(call);
}

void Suspects::try_half() {
  const auto count = rest_ > 0 ? rest_ : held_.size();
  const auto half = (count + 1) / 2;
  const auto end = held_.begin() + static_cast<std::ptrdiff_t>(half);
  trial_.insert(held_.begin(), end);
  held_.erase(held_.begin(), end);
  rest_ = rest_ > 0 ? rest_ - half : 0;
}

std::optional<Suspects::CallId> Suspects::died(const std::vector<CallId>& begun, std::optional<CallId> inside, Time now) {
  if (inside) {
    *this = {};
    return inside;
  }
  const bool is_first = !is_any();
  std::vector<CallId> suspected;
  for (const auto call : begun)
    if (is_first || trial_.contains(call)) suspected.push_back(call);
  lived_ = now - tried_since_;
  trial_.clear();
  if (suspected.size() == 1 && ++alone_[suspected.front()] >= kDeathsAlone) {
    const auto culprit = suspected.front();
    *this = {};
    return culprit;
  }
  held_.insert(held_.begin(), suspected.begin(), suspected.end());
  rest_ = suspected.size();
  try_half();
  return std::nullopt;
}

std::optional<Suspects::Time> Suspects::due() const {
  if (!is_any()) return std::nullopt;
  return trial_.empty() ? tried_since_ : tried_since_ + std::max<std::chrono::steady_clock::duration>(2 * lived_, kLeastTrial);
}

std::vector<Suspects::CallId> Suspects::tried(Time now) {
  const auto when = due();
  if (!when || now < *when) return {};
  cleared_.insert(trial_.begin(), trial_.end());
  trial_.clear();
  if (held_.empty()) {
    *this = {};
    return {};
  }
  try_half();
  tried_since_ = now;
  return {trial_.begin(), trial_.end()};
}

}  // namespace waybill::plugin_process
