// When a host had answers, and which targets give it none: by its own clock, which nobody sets.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/id.h"
#include "domain/job.h"

namespace waybill {

// Safe from any thread.
class Answers {
 public:
  // `pause`: attempts that are farther apart are not of one silence. It is longer than the longest cooldown.
  explicit Answers(Clock::Monotonic::duration pause = std::chrono::hours(1)) : pause_(pause) {}

  struct Unreached {
    Clock::Monotonic since, last;   // the first attempt to which nothing came back, and the newest
    bool others_answered = false;   // this host had an answer from elsewhere since
    bool others_connected = false;  // to an attempt that began since, by a connection made for it
  };

  // Attempts that ended, before anything is decided by them.
  void note(std::span<const Finished> ended);
  // `target`: see Contract::cooldown_key(). None if its last attempt had an answer.
  std::optional<Unreached> unreached(OrgId org, const std::string& target) const;

 private:
  struct Silence {
    Clock::Monotonic first, last;
  };

  void forget_old();

  const Clock::Monotonic::duration pause_;
  mutable std::mutex mutex_;
  std::optional<Clock::Monotonic> answered_, connected_;  // the last time; the latest beginning of one by a new connection
  std::map<std::pair<OrgId, std::string>, Silence> silent_;
  std::size_t few_ = 1000;  // so many are not worth a look
};

}  // namespace waybill
