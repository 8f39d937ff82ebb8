// What a submission does next, from its state, the deliveries of that state and the facts.
#include "domain/pipeline_step.h"

#include <algorithm>

namespace waybill {
namespace {

bool is_done(const ActionRun& run) { return run.status == Status::accepted || run.status == Status::deferred; }
bool has_ended(const ActionRun& run) { return run.status && is_end(*run.status); }

// Null: none is open.
const PipelineTransition* open_transition(const Pipeline& pipeline, std::string_view from, bool on_failure, const Facts& facts) {
  const PipelineTransition* other = nullptr;
  for (const auto& move : pipeline.transitions) {
    if (move.from != from || !move.is_automatic() || move.on_failure != on_failure) continue;
    if (move.otherwise)
      other = &move;
    else if (holds(move.when, facts))
      return &move;
  }
  return other;
}

bool has_automatic(const Pipeline& pipeline, std::string_view from) {
  return std::any_of(pipeline.transitions.begin(), pipeline.transitions.end(),
                     [&](const auto& move) { return move.from == from && move.actor != ActorKind::admin && !move.on_failure; });
}

bool has_manual(const Pipeline& pipeline, std::string_view from) {
  return std::any_of(pipeline.transitions.begin(), pipeline.transitions.end(),
                     [&](const auto& move) { return move.from == from && !move.is_automatic(); });
}

}  // namespace

std::vector<std::size_t> actions_to_run(const PipelineState& state, const Facts& facts) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < state.actions.size(); ++i)
    if (holds(state.actions[i].when, facts)) chosen.push_back(i);
  return chosen;
}

bool has_failed(std::span<const ActionRun> runs) {
  return std::any_of(runs.begin(), runs.end(), [](const auto& run) { return has_ended(run) && !is_done(run); });
}

NextStep next_step(const Pipeline& pipeline, const PipelineState& state, std::span<const ActionRun> runs, const Facts& facts) {
  NextStep step;
  bool all_ended = true;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].status) {
      all_ended &= has_ended(runs[i]);
      if (state.order == ActionOrder::in_order && !has_ended(runs[i])) return {};
      if (state.order == ActionOrder::attempted && !has_ended(runs[i]) && !runs[i].was_attempted) return {};
      continue;
    }
    if (state.order == ActionOrder::in_order && has_failed(runs.first(i))) break;
    step.actions.push_back(i);
    if (state.order != ActionOrder::parallel) break;
  }
  if (!step.actions.empty()) {
    step.kind = NextStep::Kind::run;
    return step;
  }
  if (!all_ended) return {};
  const bool failed = has_failed(runs);
  step.transition = open_transition(pipeline, state.name, failed, facts);
  if (step.transition)
    step.kind = NextStep::Kind::move;
  else if (failed || (!state.terminal && has_automatic(pipeline, state.name) && !has_manual(pipeline, state.name)))
    step.kind = NextStep::Kind::blocked;
  return step;
}

}  // namespace waybill
