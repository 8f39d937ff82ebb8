// Judges what waits, and what is about to end: pure functions.
#pragma once

#include <vector>

#include "cli/finding.h"
#include "store/operations/queue_health.h"
#include "store/operations/target_store.h"
#include "store/organisations/org_keys.h"

namespace waybill {

// `outage`: once an outage has lasted so long, attempts count (timeouts.outage).
Findings judge_pauses(const std::vector<PausedTarget>& targets);
Findings judge_rates(const std::vector<TargetRate>& rates);
Findings judge_outages(const std::vector<CoolingTarget>& targets, Millis outage);
Findings judge_lone_findings(const std::vector<LoneFinding>& findings);
// `stuck`: alerts.stuck.
Findings judge_due(const WaitingWork& work, Millis stuck);
Finding judge_dead_letters(const WaitingWork& work);
Findings judge_incidents(const std::vector<OpenIncidents>& incidents);
Findings judge_tokens(const std::vector<EndingToken>& tokens);
Findings judge_master_keys(const std::vector<LostKey>& lost);

}  // namespace waybill
