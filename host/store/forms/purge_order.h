// Keeps submissions that the database refuses to purge or advance from blocking others, and from being retried constantly.
#pragma once

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "base/id.h"
#include "base/time.h"

namespace waybill {

// The failed submissions and their growing waits. One thread at a time.
class FailedForms {
 public:
  explicit FailedForms(Millis again) : again_(again) {}

  bool is_to_wait(SubmissionId id) const {
    const auto at = failed_.find(id);
    return at != failed_.end() && std::chrono::steady_clock::now() < at->second.not_before;
  }
  void failed(SubmissionId id) {
    auto& one = failed_[id];
    one.pause = one.pause == Millis{0} ? again_ : std::min<Millis>(2 * one.pause, kMaxPause);
    one.not_before = std::chrono::steady_clock::now() + one.pause;
  }
  void done(SubmissionId id) { failed_.erase(id); }
  void forget_settled() {  // drops failures that did not recur: another host has dealt with them
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(failed_, [&](const auto& one) { return one.second.not_before + kMaxPause < now; });
  }

 private:
  static constexpr Millis kMaxPause{std::chrono::hours(1)};
  struct Failure {
    Millis pause{0};
    std::chrono::steady_clock::time_point not_before;
  };

  const Millis again_;
  std::unordered_map<SubmissionId, Failure> failed_;
};

// The order in which submissions are purged. One thread at a time.
class PurgeOrder : public FailedForms {
 public:
  using FailedForms::FailedForms;

  struct Place {
    Timestamp expires{};
    SubmissionId id{};
  };
  // The shard's next search begins after this place.
  Place behind(Shard shard) const {
    const auto at = places_.find(shard);
    return at == places_.end() ? Place{} : at->second;
  }
  void went_on(Shard shard, Place last) { places_[shard] = last; }
  void begin_again(Shard shard) { places_.erase(shard); }

 private:
  std::unordered_map<Shard, Place> places_;
};

}  // namespace waybill
