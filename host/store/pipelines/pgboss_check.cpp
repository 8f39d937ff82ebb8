// Asks plugins whether they could send a job, and a pipeline what it would begin for it.
#include "store/pipelines/pgboss_check.h"

#include <algorithm>
#include <vector>

#include "domain/facts.h"

namespace waybill {
namespace {

constexpr std::string_view kPayload = "/payload", kFollowUp = "/payload/onComplete";

Facts facts_of(const std::string& data) {
  Facts facts;
  facts.set(kPayload, data.empty() ? "null" : data);
  return facts;
}

bool has_follow_up(const Facts& facts) {
  const auto follow_up = facts.json_of(Term{.at = std::string(kFollowUp)});
  return !follow_up.empty() && follow_up != "null" && follow_up != "{}";
}

// "": the plugin takes it, as far as its schema says, or is not here.
std::string fault_in_payload(const std::string& payload, const Contract& contract, const ActionTypes& types) {
  const auto problems = types.check_payload(contract.action_type, payload.empty() ? "null" : payload);
  if (problems.empty()) return {};
  const auto& first = problems.front();
  return "payload of " + contract.target + ": " + (first.field.empty() ? "" : first.field + ": ") + first.message;
}

std::string fault_in_first_state(const Facts& facts, const PipelineDefinition& definition, const ActionTypes& types) {
  const auto& state = *definition.pipeline.find(definition.pipeline.initial);
  for (std::size_t i = 0; i < state.actions.size(); ++i) {
    const auto& action = state.actions[i];
    if (!action.input.starts_with(kPayload) || !holds(action.when, facts)) continue;
    auto fault =
        fault_in_payload(facts.json_of(Term{.at = action.input}), definition.contracts[definition.contract_of(state, i)], types);
    if (!fault.empty()) return fault;
  }
  return {};
}

// What is begun for the onComplete, in any state.
std::vector<const PipelineStart*> begun_by(const Facts& facts, const Pipeline& pipeline) {
  std::vector<const PipelineStart*> begun;
  for (const auto& state : pipeline.states)
    for (const auto& start : state.starts)
      if (start.payload.starts_with(kFollowUp) && !facts.json_of(Term{.at = start.payload}).empty() && holds(start.when, facts))
        begun.push_back(&start);
  return begun;
}

}  // namespace

std::string fault_in_job(const std::string& data, const Contract& target, const ActionTypes& types) {
  if (has_follow_up(facts_of(data)))
    return "it has an onComplete, which a target does not follow: map its queue to a pipeline that does";
  return fault_in_payload(data, target, types);
}

std::string fault_in_job(const std::string& data, const PipelineDefinition& pipeline, const ActionTypes& types) {
  const auto facts = facts_of(data);
  if (auto fault = fault_in_first_state(facts, pipeline, types); !fault.empty()) return fault;
  if (!has_follow_up(facts)) return {};
  const auto begun = begun_by(facts, pipeline.pipeline);
  if (begun.empty()) return "pipeline " + pipeline.pipeline.name + " begins nothing for its onComplete";
  for (const auto* start : begun) {
    const auto next = std::find_if(pipeline.starts.begin(), pipeline.starts.end(),
                                   [&](const auto& known) { return known->pipeline.name == start->pipeline; });
    if (next == pipeline.starts.end()) continue;
    const auto fault = fault_in_job(facts.json_of(Term{.at = start->payload}), **next, types);
    if (!fault.empty()) return "onComplete: " + fault;
  }
  return {};
}

}  // namespace waybill
