// Pipelines: looking up their states, and drawing them.
#include "domain/pipeline.h"

#include <algorithm>

namespace waybill {

std::string_view to_string(ActorKind actor) {
  switch (actor) {
    case ActorKind::system:
      return "system";
    case ActorKind::worker:
      return "worker";
    case ActorKind::admin:
      return "admin";
  }
  return "system";
}

const PipelineState* Pipeline::find(std::string_view state) const {
  const auto at = std::find_if(states.begin(), states.end(), [&](const auto& one) { return one.name == state; });
  return at == states.end() ? nullptr : &*at;
}

std::string diagram_of(const Pipeline& pipeline) {
  std::string text = "stateDiagram-v2\n    [*] --> " + pipeline.initial + ": " + pipeline.submit_trigger + "\n";
  for (const auto& move : pipeline.transitions) {
    text += "    " + move.from + " --> " + move.to + ": " + move.trigger;
    if (move.actor == ActorKind::admin) text += " (" + move.role + ")";
    if (move.on_failure) text += " (failure)";
    if (move.otherwise)
      text += " [otherwise]";
    else if (!move.when.is_always())
      text += " [" + to_text(move.when) + "]";
    text += "\n";
  }
  for (const auto& state : pipeline.states) {
    std::string runs;
    for (const auto& action : state.actions) runs += (runs.empty() ? "" : ", ") + action.target;
    for (const auto& start : state.starts) runs += (runs.empty() ? "starts " : ", starts ") + start.pipeline;
    if (!runs.empty()) text += "    note right of " + state.name + ": " + runs + "\n";
    if (state.terminal) text += "    " + state.name + " --> [*]\n";
  }
  return text;
}

}  // namespace waybill
