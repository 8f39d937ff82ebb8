// What people may ask of a submission of a pipeline, and what is decided about it. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/facts.h"
#include "domain/pipeline.h"
#include "domain/pipeline_step.h"

namespace waybill {

// A person's decision.
struct ManualTransition {
  std::string to, trigger, comment;
  std::string from{};  // the state that it was made for; "": the one that the submission has now
  std::string actor;   // the token's name
  std::function<bool(std::string_view role)> has_role{};  // whether the person may do what needs this role
};

// An operator's order about a submission that is blocked.
struct PipelineRepair {
  enum class Kind : std::uint8_t {
    rerun,  // from a state on
    skip,   // the present state's failed actions count as done
    end     // in a terminal state, whose actions do not run
  };
  Kind kind = Kind::rerun;
  std::string from{};                  // the present state; "": any
  std::string state{};                 // rerun: from which on, "": the present one; end: in which, "": the only terminal one
  std::string action{};                // rerun: whose input it is; "": there is only one that can be meant
  std::optional<std::string> input{};  // rerun: JSON that the action is sent
  std::string result{};                // skip: JSON, of several actions an object by their names; "": none
  std::string comment{};
  std::string actor{};
  bool dry_run = false;
};
std::string_view to_string(PipelineRepair::Kind kind);
std::string metadata_of(const PipelineRepair& order);  // of its audit events: a JSON object

struct TransitionResult {
  enum class How : std::uint8_t { moved, illegal, conflict, forbidden, unknown } how;
  std::string state{};  // from then on, or the one that stands against it
  std::string why{};
};

// Where a submission is.
struct PipelinePlace {
  const Pipeline& pipeline;
  const PipelineState& state;
  std::uint32_t step;  // counted from 1
  const Facts& facts;
};

// The transitions that people may make now.
std::vector<const PipelineTransition*> open_decisions(const PipelinePlace& at);

// Either the transition, or why it is not made.
struct TransitionDecision {
  const PipelineTransition* along = nullptr;
  TransitionResult refused{TransitionResult::How::illegal};
};
// `seen`: the state in which the submission was when the request came.
TransitionDecision decide(const ManualTransition& wanted, const PipelinePlace& at, std::string_view seen);

// Why a repair cannot be, whatever it is; "": it can.
std::string fault_in(const PipelineRepair& order, const PipelinePlace& at, bool is_blocked);

// Either the state, or why there is none.
struct StateChoice {
  const PipelineState* state = nullptr;
  std::string refused{};
};
StateChoice state_to_rerun(const PipelineRepair& order, const PipelinePlace& at, std::span<const std::string> visited);
StateChoice state_to_end_in(const PipelineRepair& order, const PipelinePlace& at);

// The place of the run that an order's input is for; none: it is not clear which.
std::optional<std::size_t> place_of_input(const PipelineRepair& order, const PipelineState& state,
                                          std::span<const ActionRun> runs);

}  // namespace waybill
