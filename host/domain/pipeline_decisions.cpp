// Decides about what people ask of a submission of a pipeline.
#include "domain/pipeline_decisions.h"

#include <algorithm>
#include <utility>

#include "base/json_writer.h"

namespace waybill {
namespace {

std::string too_many_steps() { return "has entered " + std::to_string(kMaxSteps) + " states"; }

// What people may decide instead.
std::string in_words(const std::vector<const PipelineTransition*>& open) {
  if (open.empty()) return "; nobody decides there";
  std::string list;
  for (const auto* one : open) list += (list.empty() ? "; open: " : ", ") + one->trigger + " to " + one->to;
  return list;
}

const PipelineState* only_end(const Pipeline& pipeline) {
  const PipelineState* only = nullptr;
  for (const auto& state : pipeline.states) {
    if (!state.terminal) continue;
    if (only != nullptr) return nullptr;
    only = &state;
  }
  return only;
}

}  // namespace

std::string_view to_string(PipelineRepair::Kind kind) {
  constexpr std::string_view kWords[] = {"rerun", "skip", "end"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string metadata_of(const PipelineRepair& order) {
  std::string json = "{\"repair\":" + json_string(to_string(order.kind));
  if (order.input) json += ",\"inputGiven\":true";
  if (!order.action.empty()) json += ",\"action\":" + json_string(order.action);
  if (!order.result.empty()) json += ",\"resultGiven\":true";
  if (!order.comment.empty()) json += ",\"comment\":" + json_string(order.comment);
  return json + "}";
}

std::vector<const PipelineTransition*> open_decisions(const PipelinePlace& at) {
  std::vector<const PipelineTransition*> open;
  for (const auto& one : at.pipeline.transitions)
    if (one.from == at.state.name && one.actor == ActorKind::admin && holds(one.when, at.facts)) open.push_back(&one);
  return open;
}

TransitionDecision decide(const ManualTransition& wanted, const PipelinePlace& at, std::string_view seen) {
  using How = TransitionResult::How;
  const std::string& state = at.state.name;
  const auto refuse = [&](How how, std::string why) { return TransitionDecision{nullptr, {how, state, std::move(why)}}; };
  if (state != seen || (!wanted.from.empty() && wanted.from != state))
    return refuse(How::conflict, "the submission is in state " + state + " meanwhile");
  const auto open = open_decisions(at);
  const auto found = std::find_if(open.begin(), open.end(), [&](const PipelineTransition* one) {
    return one->to == wanted.to && one->trigger == wanted.trigger;
  });
  if (found == open.end())
    return refuse(How::illegal,
                  "a submission in state " + state + " cannot go to " + wanted.to + " by " + wanted.trigger + in_words(open));
  if (!wanted.has_role((*found)->role)) return refuse(How::forbidden, "this transition needs the role " + (*found)->role);
  if (at.step >= kMaxSteps) return refuse(How::conflict, "the submission " + too_many_steps());
  return {.along = *found};
}

std::string fault_in(const PipelineRepair& order, const PipelinePlace& at, bool is_blocked) {
  if (!is_blocked) return "it is not blocked: it is in state " + at.state.name;
  if (!order.from.empty() && order.from != at.state.name) return "it is in state " + at.state.name;
  if (at.step >= kMaxSteps && order.kind == PipelineRepair::Kind::rerun) return "it " + too_many_steps();
  return "";
}

StateChoice state_to_rerun(const PipelineRepair& order, const PipelinePlace& at, std::span<const std::string> visited) {
  const auto* to = order.state.empty() ? &at.state : at.pipeline.find(order.state);
  if (to == nullptr) return {nullptr, "its pipeline has no state \"" + order.state + "\""};
  if (to->actions.empty()) return {nullptr, "state " + to->name + " runs nothing"};
  if (std::find(visited.begin(), visited.end(), to->name) == visited.end())
    return {nullptr, "it has not been in state " + to->name};
  return {to};
}

StateChoice state_to_end_in(const PipelineRepair& order, const PipelinePlace& at) {
  const auto* to = !order.state.empty() ? at.pipeline.find(order.state) : at.state.terminal ? &at.state : only_end(at.pipeline);
  if (to == nullptr && order.state.empty())
    return {nullptr, "its pipeline has several terminal states: name the one that it ends in"};
  if (to == nullptr) return {nullptr, "its pipeline has no state \"" + order.state + "\""};
  if (!to->terminal) return {nullptr, "state " + to->name + " is not terminal"};
  if (at.state.terminal && to != &at.state) return {nullptr, "it has ended in state " + at.state.name};
  return {to};
}

std::optional<std::size_t> place_of_input(const PipelineRepair& order, const PipelineState& state,
                                          std::span<const ActionRun> runs) {
  std::optional<std::size_t> place;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].status == Status::accepted) continue;
    if (!order.action.empty() && state.actions.at(runs[i].action).name != order.action) continue;
    if (place) return std::nullopt;
    place = i;
  }
  return place;
}

}  // namespace waybill
