// The machine of all pipelines: what a submission does next.  P1 P2 P5
#include "domain/pipeline_step.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "domain/pipeline_check.h"
#include "unit/domain/pipeline_text.h"

namespace waybill {
namespace {

using testing::changed;
using testing::kJudged;
using testing::pipeline_of;
using Kind = NextStep::Kind;
using Places = std::vector<std::size_t>;

Facts with_score(double score) {
  Facts facts;
  facts.set("/result", "{\"score\":" + std::to_string(score) + "}");
  return facts;
}

// A state that runs three actions in this order, and is left on success.
Pipeline three(ActionOrder order) {
  Pipeline p{.name = "p", .initial = "S"};
  p.states = {{.name = "S", .order = order, .actions = {{.name = "a"}, {.name = "b"}, {.name = "c"}}},
              {.name = "E", .terminal = true}};
  p.transitions = {{.from = "S", .to = "E", .trigger = "t"}};
  return p;
}

NextStep after(const Pipeline& p, const std::vector<ActionRun>& runs) { return next_step(p, p.states[0], runs, Facts{}); }

ActionRun run(std::size_t action, std::optional<Status> status = std::nullopt, bool was_attempted = false) {
  return {action, status, was_attempted};
}

TEST(PipelineStep, RunsOneActionAfterTheOther) {  // P2
  const auto p = three(ActionOrder::in_order);
  EXPECT_EQ(after(p, {run(0), run(1), run(2)}).actions, Places{0});
  EXPECT_EQ(after(p, {run(0, Status::due), run(1), run(2)}).kind, Kind::wait);
  EXPECT_EQ(after(p, {run(0, Status::claimed, true), run(1), run(2)}).kind, Kind::wait);
  EXPECT_EQ(after(p, {run(0, Status::accepted), run(1), run(2)}).actions, Places{1});
  EXPECT_EQ(after(p, {run(0, Status::accepted), run(1, Status::deferred), run(2)}).actions, Places{2});
  const auto last = after(p, {run(0, Status::accepted), run(1, Status::deferred), run(2, Status::accepted)});
  ASSERT_EQ(last.kind, Kind::move);
  EXPECT_EQ(last.transition, &p.transitions[0]);
}

TEST(PipelineStep, StopsInOrderAtTheFirstThatFailed) {  // P5
  const auto p = three(ActionOrder::in_order);
  for (const auto end : {Status::rejected, Status::exhausted, Status::cancelled}) {
    const auto step = after(p, {run(0, Status::accepted), run(1, end), run(2)});
    EXPECT_EQ(step.kind, Kind::blocked) << to_string(end);
    EXPECT_TRUE(step.actions.empty());
  }
}

TEST(PipelineStep, RunsAllAtOnceInParallel) {  // P2
  const auto p = three(ActionOrder::parallel);
  const auto begin = after(p, {run(0), run(1), run(2)});
  EXPECT_EQ(begin.kind, Kind::run);
  EXPECT_EQ(begin.actions, (Places{0, 1, 2}));
  EXPECT_EQ(after(p, {run(0, Status::exhausted), run(1, Status::due), run(2, Status::accepted)}).kind, Kind::wait);
  EXPECT_EQ(after(p, {run(0, Status::exhausted), run(1, Status::accepted), run(2, Status::accepted)}).kind, Kind::blocked);
  EXPECT_EQ(after(p, {run(0, Status::accepted), run(1, Status::accepted), run(2, Status::accepted)}).kind, Kind::move);
}

TEST(PipelineStep, RunsTheNextOnceTheOneBeforeWasAttempted) {  // F6
  const auto p = three(ActionOrder::attempted);
  EXPECT_EQ(after(p, {run(0), run(1), run(2)}).actions, Places{0});
  EXPECT_EQ(after(p, {run(0, Status::due), run(1), run(2)}).kind, Kind::wait);
  EXPECT_EQ(after(p, {run(0, Status::due, true), run(1), run(2)}).actions, Places{1});
  EXPECT_EQ(after(p, {run(0, Status::exhausted), run(1, Status::due, true), run(2)}).actions, Places{2});
  EXPECT_EQ(after(p, {run(0, Status::due, true), run(1, Status::accepted), run(2, Status::accepted)}).kind, Kind::wait);
}

TEST(PipelineStep, FollowsTheGuardThatHolds) {  // P2
  const auto p = pipeline_of(kJudged);
  const std::vector<ActionRun> done{run(0, Status::accepted)};
  EXPECT_EQ(next_step(p, p.states[0], done, with_score(80)).transition->to, "GOOD");
  EXPECT_EQ(next_step(p, p.states[0], done, with_score(79.99)).transition->to, "REVIEW");
}

TEST(PipelineStep, TakesOtherwiseOnlyWhenNothingElseIsOpen) {  // P2
  const auto p = pipeline_of(changed(kJudged, R"("when": { "at": "/result/score", "atLeast": 80 })", R"("otherwise": true)"));
  const std::vector<ActionRun> done{run(0, Status::accepted)};
  EXPECT_EQ(next_step(p, p.states[0], done, with_score(80)).transition->to, "GOOD");
  EXPECT_EQ(next_step(p, p.states[0], done, with_score(10)).transition->to, "REVIEW");
}

TEST(PipelineStep, TakesAFailuresTransitionWhenAnActionFailed) {  // P5
  auto p = three(ActionOrder::in_order);
  p.transitions.push_back({.from = "S", .to = "E", .trigger = "gave-up", .on_failure = true});
  const auto step = after(p, {run(0, Status::accepted), run(1, Status::exhausted), run(2)});
  ASSERT_EQ(step.kind, Kind::move);
  EXPECT_EQ(step.transition->trigger, "gave-up");
  EXPECT_EQ(after(p, {run(0, Status::accepted), run(1, Status::accepted), run(2, Status::accepted)}).transition->trigger, "t");
}

TEST(PipelineStep, BlocksWhereNoFailuresTransitionIsOpen) {  // P5
  auto p = three(ActionOrder::in_order);
  p.transitions.push_back({.from = "S",
                           .to = "E",
                           .trigger = "gave-up",
                           .on_failure = true,
                           .when = {.kind = Guard::Kind::equals, .term = {.at = "/stage/reason"}, .value = std::string("gone")}});
  EXPECT_EQ(after(p, {run(0, Status::exhausted), run(1), run(2)}).kind, Kind::blocked);
}

TEST(PipelineStep, BlocksWhereNoGuardHoldsAndNobodyMayDecide) {  // P1
  auto p = three(ActionOrder::in_order);
  p.states[0].actions.clear();
  p.transitions[0].when = {.kind = Guard::Kind::exists, .term = {.at = "/payload"}};
  EXPECT_EQ(after(p, {}).kind, Kind::blocked);
  p.transitions.push_back({.from = "S", .to = "E", .trigger = "decide", .actor = ActorKind::admin});
  EXPECT_EQ(after(p, {}).kind, Kind::wait);
}

TEST(PipelineStep, WaitsForPeople) {  // P4
  const auto p = pipeline_of(kJudged);
  EXPECT_EQ(next_step(p, p.states[1], {}, Facts{}).kind, Kind::wait);
}

TEST(PipelineStep, RunsTheActionsOfATerminalStateAndThenRests) {  // P2
  Pipeline p{.name = "p", .initial = "E"};
  p.states = {{.name = "E", .terminal = true, .actions = {{.name = "a"}}}};
  EXPECT_EQ(after(p, {run(0)}).actions, Places{0});
  EXPECT_EQ(after(p, {run(0, Status::accepted)}).kind, Kind::wait);
  EXPECT_EQ(after(p, {run(0, Status::exhausted)}).kind, Kind::blocked);
  EXPECT_EQ(after(p, {}).kind, Kind::wait);
}

TEST(PipelineStep, LeavesOutActionsWhoseConditionDoesNotHold) {  // P2
  auto p = three(ActionOrder::in_order);
  p.states[0].actions[1].when = {.kind = Guard::Kind::exists, .term = {.at = "/payload/b"}};
  Facts facts;
  facts.set("/payload", "{}");
  EXPECT_EQ(actions_to_run(p.states[0], facts), (Places{0, 2}));
  facts.set("/payload/b", "1");
  EXPECT_EQ(actions_to_run(p.states[0], facts), (Places{0, 1, 2}));
}

// ---- random pipelines with random ends ----

Pipeline any_pipeline() {
  const int count = *rc::gen::inRange(2, 6);
  const auto name = [](int i) { return "S" + std::to_string(i); };
  Pipeline p{.name = "p", .initial = name(0)};
  for (int i = 0; i < count; ++i) {
    PipelineState state{.name = name(i), .terminal = i == count - 1};
    state.order = *rc::gen::element(ActionOrder::in_order, ActionOrder::parallel);
    for (int a = *rc::gen::inRange(0, 4); a > 0; --a) state.actions.push_back({.name = "a" + std::to_string(a)});
    p.states.push_back(std::move(state));
  }
  for (int i = 0; i + 1 < count; ++i) {  // each way leads on
    const auto to = [&] { return name(*rc::gen::inRange(i + 1, count)); };
    const Guard small{
        .kind = Guard::Kind::less, .term = {.at = "/payload/n"}, .value = static_cast<double>(*rc::gen::inRange(0, 10))};
    p.transitions.push_back({.from = name(i), .to = to(), .trigger = "small", .when = small});
    if (*rc::gen::arbitrary<bool>())
      p.transitions.push_back({.from = name(i), .to = to(), .trigger = "other", .otherwise = true});
    if (*rc::gen::arbitrary<bool>())
      p.transitions.push_back({.from = name(i), .to = to(), .trigger = "decide", .actor = ActorKind::admin});
    if (!p.states[static_cast<std::size_t>(i)].actions.empty() && *rc::gen::arbitrary<bool>())
      p.transitions.push_back({.from = name(i), .to = to(), .trigger = "failed", .on_failure = true});
  }
  return p;
}

Status any_end() {
  return *rc::gen::weightedElement<Status>(
      {{6, Status::accepted}, {1, Status::deferred}, {1, Status::rejected}, {1, Status::exhausted}});
}

std::size_t open_ones(const Pipeline& p, const PipelineState& state, bool failed, const Facts& facts) {
  std::size_t open = 0;
  for (const auto& move : p.transitions)
    open += move.from == state.name && move.actor != ActorKind::admin && move.on_failure == failed && !move.otherwise &&
            holds(move.when, facts);
  return open;
}

RC_GTEST_PROP(PipelineStepProperty, EverySubmissionEndsOrWaitsAndNoStepHasTwoWays, ()) {  // P1 P2
  const auto p = any_pipeline();
  Facts facts;
  facts.set("/payload", "{\"n\":" + std::to_string(*rc::gen::inRange(0, 10)) + "}");
  const PipelineState* state = &p.states[0];
  std::vector<ActionRun> runs;
  const auto enter = [&] {
    runs.clear();
    for (const auto action : actions_to_run(*state, facts)) runs.push_back({action});
  };
  enter();
  for (std::size_t steps = 0, moves = 0;; ++steps) {
    RC_ASSERT(steps < 100u);
    const auto next = next_step(p, *state, runs, facts);
    if (next.kind == Kind::run) {
      RC_ASSERT(!next.actions.empty());
      for (const auto place : next.actions) {
        RC_ASSERT(!runs.at(place).status);  // nothing begins twice
        runs[place].status = Status::due;
      }
      RC_ASSERT(state->order == ActionOrder::parallel || next.actions.size() == 1);
      RC_ASSERT(next_step(p, *state, runs, facts).kind == Kind::wait);
      for (const auto place : next.actions) runs[place].status = any_end();
      continue;
    }
    const bool failed = has_failed(runs);
    if (next.kind == Kind::move) {
      RC_ASSERT(next.transition->from == state->name);
      RC_ASSERT(next.transition->actor != ActorKind::admin);
      RC_ASSERT(next.transition->on_failure == failed);
      RC_ASSERT(open_ones(p, *state, failed, facts) == (next.transition->otherwise ? 0u : 1u));
      RC_ASSERT(!state->terminal);
      state = p.find(next.transition->to);
      enter();
      RC_ASSERT(++moves < p.states.size());
      continue;
    }
    RC_ASSERT(open_ones(p, *state, failed, facts) == 0u);
    if (next.kind == Kind::blocked) {
      RC_ASSERT(failed || !state->terminal);
      break;
    }
    RC_ASSERT(!failed);
    RC_ASSERT(state->terminal || std::any_of(p.transitions.begin(), p.transitions.end(), [&](const auto& move) {
                return move.from == state->name && move.actor == ActorKind::admin;
              }));
    break;
  }
}

}  // namespace
}  // namespace waybill
