// The breaker on the failure rate of a target: many deliveries that fail alike are an outage, however each failure looks alone.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "domain/job.h"

namespace waybill {

// A 500, or a time-out after the request was sent, may be the delivery's own fault or its target's. The breaker is open when at
// least half of the target's last kSample deliveries ended so, each counted once by its last attempt, and they are kFloor or
// more, all within kWindow. Fewer deliveries open it never: their attempts count. Channels of organisations have rules of their
// own. One thread at a time; it holds at most kSample entries for each target with failures in the last kWindow.
class FailureBreaker {
 public:
  static constexpr std::size_t kSample = 20;
  static constexpr std::size_t kFloor = 10;
  static constexpr Seconds kWindow{60};

  // Has such failures blame the whole target while its breaker is open, and where the attempt was a probe: what it met tells of
  // no end of the outage.
  void judge(std::vector<Finished>& batch);
  // The target has recovered: what was before says nothing of it any more.
  void forget(OrgId org, const std::string& target) { targets_.erase({org, target}); }

 private:
  struct Ended {
    DeliveryId delivery;
    Timestamp at;
    bool failed;
  };
  using Recent = std::vector<Ended>;  // oldest first
  using Key = std::pair<OrgId, std::string>;

  void note(const Finished& finished, bool failed);
  bool is_open(const Finished& finished) const;
  void drop_old(Timestamp now);

  std::map<Key, Recent> targets_;
  Timestamp dropped_at_{};
};

}  // namespace waybill
