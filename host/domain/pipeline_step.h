// The one machine that all pipelines run on: what a submission does next. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "domain/facts.h"
#include "domain/pipeline.h"
#include "domain/status.h"

namespace waybill {

// An action that the present state runs: its latest delivery. None: its turn has not come.
struct ActionRun {
  std::size_t action = 0;  // in the state's list
  std::optional<Status> status{};
  bool was_attempted = false;  // or could not be for so long that the next one need not wait; see ActionOrder::attempted
};

struct NextStep {
  enum class Kind : std::uint8_t {
    wait,    // for deliveries, or for people
    run,     // `actions` begin
    move,    // along `transition`
    blocked  // an action failed for good, or no transition is open; the submission waits for a replay
  };
  Kind kind = Kind::wait;
  std::vector<std::size_t> actions{};  // places in the runs
  const PipelineTransition* transition = nullptr;
};

// The actions of a state that run when it is entered, as places in its list.
std::vector<std::size_t> actions_to_run(const PipelineState& state, const Facts& facts);

// `facts` have /result and /stage where all runs are done.
NextStep next_step(const Pipeline& pipeline, const PipelineState& state, std::span<const ActionRun> runs, const Facts& facts);

// Whether all runs have ended, and one of them badly.
bool has_failed(std::span<const ActionRun> runs);

}  // namespace waybill
