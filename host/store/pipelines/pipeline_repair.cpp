// Repairs blocked submissions of pipelines: each order is a move, or a result that stands in for a failed delivery's.
#include "store/pipelines/pipeline_repair.h"

#include <algorithm>

#include "store/forms/form_rows.h"
#include "store/pipelines/pipeline_rows.h"
#include "store/pipelines/pipeline_walk.h"
#include "store/pipelines/pipelines.sql.h"

namespace waybill {
namespace {

using MoveHow = TransitionResult::How;

TransitionResult refused(const PipelineWalk& walk, std::string why) {
  return {MoveHow::illegal, walk.state->name, std::move(why)};
}

PipelineTransition move_to(const PipelineWalk& walk, const PipelineState& to, const PipelineRepair& order) {
  return {.from = walk.state->name, .to = to.name, .trigger = std::string(to_string(order.kind)), .actor = ActorKind::admin};
}

// The database refuses a move that neither the pipeline's file nor such a row allows.
Result<void> allow_move(Connection& connection, const PipelineWalk& walk, const PipelineState& to) {
  TRY(connection.run(sql::order_repair,
                     {std::to_string(walk.shard()), std::to_string(walk.id.value), std::to_string(walk.step + 1),
                      std::to_string(walk.org.value), walk.state->name, to.name}));
  return {};
}

bool has_no_result(const PipelineWalk::Run& run) { return run.status && is_end(*run.status) && *run.status != Status::accepted; }

// What was given to the present step's runs, as the walk has it.
Result<void> keep_given(Connection& connection, const PipelineWalk& walk, const std::vector<std::size_t>& places) {
  if (places.empty()) return {};
  ArrayText place, input, done, result;
  for (const auto i : places) {
    const auto& run = walk.runs[i];
    place.add(static_cast<std::int64_t>(i) + 1);
    run.input ? input.add(*run.input) : input.add_null();
    done.add_flag(run.status == Status::accepted);
    run.result.empty() ? result.add_null() : result.add(run.result);
  }
  TRY(connection.run(sql::give_to_actions,
                     {std::to_string(walk.shard()), std::to_string(walk.id.value), std::to_string(walk.step),
                      std::to_string(walk.org.value), place.take(), input.take(), done.take(), result.take()}));
  return {};
}

}  // namespace

Result<TransitionResult> PipelineRows::repair(Connection& connection, Shard shard, SubmissionId submission,
                                              const PipelineRepair& order) {
  auto walks = read_walks(connection, versions_, shard, {submission});
  TRY(walks);
  auto& walk = walks->front();
  if (auto fault = fault_in(order, walk.place(), walk.is_blocked); !fault.empty()) return refused(walk, std::move(fault));
  auto free = cancel_open(connection, submission);
  TRY(free);
  if (!*free)
    return fail(Error::Kind::conflict,
                "an action of state " + walk.state->name + " is being attempted; try again when it has ended");
  auto done = order.kind == PipelineRepair::Kind::rerun  ? rerun(connection, walk, order)
              : order.kind == PipelineRepair::Kind::skip ? skip(connection, walk, order)
                                                         : end(connection, walk, order);
  TRY(done);
  if (done->how == MoveHow::moved)
    TRY(connection.run(sql::settle_letters, {std::to_string(shard), std::to_string(submission.value), order.actor}));
  return done;
}

// A step of its own, also in the state where it is: so what is sent has another idempotency key, and nobody takes it for what was
// sent before. Where the present state fails in some of its actions, those that were accepted keep their results and do not run
// again.
Result<TransitionResult> PipelineRows::rerun(Connection& connection, PipelineWalk& walk, const PipelineRepair& order) {
  const auto [to, why_not] = state_to_rerun(order, walk.place(), walk.visited);
  if (to == nullptr) return refused(walk, why_not);
  walk.restored_to.reset();  // whoever orders it has looked whether it was sent
  const auto before = walk.runs;
  const bool is_partly = to == walk.state && std::any_of(before.begin(), before.end(), has_no_result);
  std::optional<std::vector<std::size_t>> same;
  if (is_partly) {
    same.emplace();
    for (const auto& run : before) same->push_back(run.action);
  }
  TRY(allow_move(connection, walk, *to));
  TRY(enter(connection, walk, move_to(walk, *to, order), order.actor, metadata_of(order), same));
  std::vector<std::size_t> given;
  for (std::size_t i = 0; is_partly && i < before.size(); ++i) {
    if (before[i].status != Status::accepted) continue;
    walk.runs[i].status = Status::accepted;
    walk.runs[i].result = before[i].result;
    given.push_back(i);
  }
  if (order.input) {
    const auto place = place_of_input(order, *walk.state, walk.action_runs());
    if (!place)
      return fail(Error::Kind::conflict, "state " + to->name + " runs several actions: name the one that gets the input");
    walk.runs[*place].input = order.input;
    given.push_back(*place);
  }
  TRY(keep_given(connection, walk, given));
  TRY(go_on(connection, walk));
  return TransitionResult{MoveHow::moved, walk.state->name, {}};
}

Result<TransitionResult> PipelineRows::skip(Connection& connection, PipelineWalk& walk, const PipelineRepair& order) {
  Facts parts;
  if (!order.result.empty()) parts.set("/result", order.result);
  std::vector<std::size_t> given;
  for (std::size_t i = 0; i < walk.runs.size(); ++i) {
    auto& run = walk.runs[i];
    if (!has_no_result(run)) continue;
    run.result = walk.state->actions.size() == 1
                     ? order.result
                     : parts.json_of(Term{.at = "/result/" + walk.state->actions.at(run.action).name});
    run.status = Status::accepted;
    given.push_back(i);
  }
  if (given.empty())
    return refused(walk, "no action of state " + walk.state->name + " has failed: run it again, or end the submission");
  TRY(keep_given(connection, walk, given));
  TRY(connection.run(sql::unblock_pipeline, {std::to_string(walk.shard()), std::to_string(walk.id.value), "stage_skipped", "skip",
                                             order.actor, metadata_of(order)}));
  const std::string at = walk.state->name;
  const int step = walk.step;
  walk.is_blocked = false;
  TRY(go_on(connection, walk));
  if (walk.is_blocked && walk.step == step)
    return fail(Error::Kind::conflict, "no transition of state " + at + " is open with this result");
  return TransitionResult{MoveHow::moved, walk.state->name, {}};
}

Result<TransitionResult> PipelineRows::end(Connection& connection, PipelineWalk& walk, const PipelineRepair& order) {
  const auto [to, why_not] = state_to_end_in(order, walk.place());
  if (to == nullptr) return refused(walk, why_not);
  if (walk.state->terminal) {
    TRY(connection.run(sql::unblock_pipeline, {std::to_string(walk.shard()), std::to_string(walk.id.value), "stage_given_up",
                                               "end", order.actor, metadata_of(order)}));
  } else {
    TRY(allow_move(connection, walk, *to));
    TRY(enter(connection, walk, move_to(walk, *to, order), order.actor, metadata_of(order), std::vector<std::size_t>{}));
  }
  return TransitionResult{MoveHow::moved, walk.state->name, {}};
}

}  // namespace waybill
