// What a batch of attempts says of its targets: outages that begin, go on and end, written before the batch is settled.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "domain/answers.h"
#include "domain/decide.h"
#include "domain/job.h"
#include "settle/breaker.h"
#include "settle/lone_refusals.h"
#include "store/queue/settle_store.h"
#include "telemetry/log.h"

namespace waybill {

struct OutageSettings {
  Millis cooldown;  // the longest one; 0: only what receivers ask for
  Millis outage;    // while an outage is shorter, its attempts do not count
};

// One thread at a time. Knows the outages of the present batch.
class TargetOutages {
 public:
  TargetOutages(SettleStore& store, Answers& answers, const Clock& clock, OutageSettings settings, Log& log)
      : store_(store), answers_(answers), clock_(clock), settings_(settings), log_(log) {}

  // Has failures that are many blame their targets; see FailureBreaker.
  void judge(std::vector<Finished>& batch) { breaker_.judge(batch); }
  // Tried until the database is there or `give_up` says true. Only a lock is not waited for: what it keeps from being written,
  // the next attempts of its target write, once a moment is over in which settlements are not kept by it.
  void write(const std::vector<Finished>& batch, const std::function<bool()>& give_up);
  bool take_began() { return std::exchange(began_, false); }  // an outage of any target, since the last call

  // Of one that blames its target: no other host finds so.
  bool is_own_finding(const Finished& finished) const;
  // None unless it blames its target.
  std::optional<Outage> outage_of(const Finished& finished) const;

  // For jobs that are settled later, without write().
  std::optional<Cooldown> cooldown_of(const Finished& finished) const;
  void forget() { known_.clear(); }
  void remember(const Finished& finished, const Cooldown& cooldown);

 private:
  using Key = std::pair<OrgId, std::string>;  // the target's, see Contract::cooldown_key()

  Result<void> write_cleared(const std::vector<Finished>& batch);
  Result<void> write_blames(const std::vector<Finished>& batch);
  Timestamp beginning_of(const Cooldown& known, const Finished& finished) const;

  // What is known of a target: by what this host alone finds, and by what holds for all.
  struct Known {
    std::optional<Cooldown> own, shared;
  };

  SettleStore& store_;
  Answers& answers_;
  const Clock& clock_;
  const OutageSettings settings_;
  Log& log_;
  FailureBreaker breaker_;
  LoneRefusals refusals_;
  std::unordered_set<const Finished*> lone_refusals_;  // of the batch
  std::map<Key, Known> known_;                         // of the targets that the batch blames
  Clock::Monotonic not_before_{};                      // a lock was in the way of writing them
  std::map<Key, Clock::Monotonic> locked_;             // or that of single ones: until when
  bool began_ = false;
};

}  // namespace waybill
