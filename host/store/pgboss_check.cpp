// Asks a pipeline what it would begin for a job.
#include "store/pgboss_check.h"

#include <algorithm>

#include "domain/facts.h"

namespace waybill {

std::string fault_in_follow_up(const PgBossJob& job, const Pipeline* pipeline) {
  constexpr std::string_view kFollowUp = "/payload/onComplete";
  if (job.data.empty()) return {};
  Facts facts;
  facts.set("/payload", job.data);
  const auto follow_up = facts.json_of(Term{.at = std::string(kFollowUp)});
  if (follow_up.empty() || follow_up == "null" || follow_up == "{}") return {};
  if (pipeline == nullptr) return "it has an onComplete, which a target does not follow: map its queue to a pipeline that does";
  const auto is_begun = [&](const PipelineStart& start) {
    return start.payload.starts_with(kFollowUp) && !facts.json_of(Term{.at = start.payload}).empty() && holds(start.when, facts);
  };
  const bool is_followed = std::any_of(pipeline->states.begin(), pipeline->states.end(), [&](const PipelineState& state) {
    return std::any_of(state.starts.begin(), state.starts.end(), is_begun);
  });
  return is_followed ? "" : "pipeline " + pipeline->name + " begins nothing for its onComplete";
}

}  // namespace waybill
