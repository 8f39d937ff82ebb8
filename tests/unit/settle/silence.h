// Attempts to which nothing came back, beside others, by this host's clock.
#pragma once

#include "unit/settle/jobs.h"

namespace waybill::testing {

inline Outcome unreachable() {
  return {.verdict = Verdict::transient, .reach = Reach::not_sent, .scope = Scope::whole_target, .reason = "connect_failed"};
}

// An attempt at a target that began and ended at that time of this host's clock, by which it was claimed as well.
inline Finished ended_at(Outcome outcome, Clock::Monotonic at, std::string target = "sms.primary") {
  auto finished = finished_with(std::move(outcome));
  auto contract = contract_of(Policy::max_attempts);
  contract.target = std::move(target);
  finished.job.contract = std::make_shared<const Contract>(std::move(contract));
  finished.job.claimed_mono = at;
  finished.started_at = finished.finished_at = finished.job.claimed_at;
  return finished;
}

}  // namespace waybill::testing
