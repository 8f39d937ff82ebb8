// What is decided about people's orders: their transitions, and the repairs of blocked submissions.  P4 T9
#include "domain/pipeline_decisions.h"

#include <gtest/gtest.h>

#include "unit/domain/pipeline_text.h"

namespace waybill {
namespace {

using testing::kJudged;
using testing::pipeline_of;
using How = TransitionResult::How;

class PipelineDecisions : public ::testing::Test {
 protected:
  PipelinePlace at(const std::string& state, std::uint32_t step = 2) const {
    return {pipeline, *pipeline.find(state), step, facts};
  }
  static ManualTransition wish(const std::string& to, const std::string& trigger) {
    return {.to = to, .trigger = trigger, .has_role = [](std::string_view) { return true; }};
  }
  static PipelineRepair order(PipelineRepair::Kind kind, const std::string& state = "") { return {.kind = kind, .state = state}; }

  Pipeline pipeline = pipeline_of(kJudged);
  Facts facts;
  std::vector<std::string> visited{"JUDGING", "REVIEW"};
};

TEST_F(PipelineDecisions, ATransitionIsFoundByBothItsNames) {  // P4
  const auto approved = decide(wish("GOOD", "approve"), at("REVIEW"), "REVIEW");
  EXPECT_EQ(approved.along, &pipeline.transitions[2]);
  for (const auto& [to, trigger] : {std::pair("GOOD", "reject"), std::pair("BAD", "approve")}) {
    const auto none = decide(wish(to, trigger), at("REVIEW"), "REVIEW");
    EXPECT_EQ(none.along, nullptr);
    EXPECT_EQ(none.refused.how, How::illegal);
    EXPECT_EQ(none.refused.state, "REVIEW");
    EXPECT_NE(none.refused.why.find("; open: approve to GOOD, reject to BAD"), std::string::npos) << none.refused.why;
  }
  const auto nobodys = decide(wish("GOOD", "pass"), at("JUDGING"), "JUDGING");
  EXPECT_EQ(nobodys.along, nullptr) << "a worker's";
  EXPECT_NE(nobodys.refused.why.find("; nobody decides there"), std::string::npos) << nobodys.refused.why;
}

TEST_F(PipelineDecisions, WhatWasDecidedForAnotherStateIsAConflictWhateverElseIsWrong) {  // P4
  EXPECT_EQ(decide(wish("GOOD", "approve"), at("REVIEW"), "JUDGING").refused.how, How::conflict) << "it moved on meanwhile";
  auto late = wish("NOWHERE", "at all");
  late.from = "JUDGING";
  EXPECT_EQ(decide(late, at("REVIEW"), "REVIEW").refused.how, How::conflict);
  EXPECT_EQ(decide(wish("GOOD", "approve"), at("REVIEW", kMaxSteps), "REVIEW").refused.how, How::conflict);
  EXPECT_NE(decide(wish("GOOD", "approve"), at("REVIEW", kMaxSteps - 1), "REVIEW").along, nullptr);
}

TEST_F(PipelineDecisions, AGuardAndARoleStandInTheWay) {  // P4
  auto& approve = pipeline.transitions[2];
  approve.role = "manager";
  auto wanted = wish("GOOD", "approve");
  wanted.has_role = [](std::string_view role) { return role != "manager"; };
  const auto refused = decide(wanted, at("REVIEW"), "REVIEW").refused;
  EXPECT_EQ(refused.how, How::forbidden);
  EXPECT_NE(refused.why.find("manager"), std::string::npos);
  approve.when = {.kind = Guard::Kind::exists, .term = {.at = "/payload/checked"}};
  EXPECT_EQ(decide(wish("GOOD", "approve"), at("REVIEW"), "REVIEW").refused.how, How::illegal);
  facts.set("/payload", R"({"checked":true})");
  EXPECT_EQ(decide(wish("GOOD", "approve"), at("REVIEW"), "REVIEW").along, &approve);
}

TEST_F(PipelineDecisions, OnlyABlockedSubmissionIsRepaired) {  // T9
  const auto rerun = order(PipelineRepair::Kind::rerun);
  EXPECT_EQ(fault_in(rerun, at("JUDGING"), true), "");
  EXPECT_EQ(fault_in(rerun, at("JUDGING"), false), "it is not blocked: it is in state JUDGING");
  auto elsewhere = rerun;
  elsewhere.from = "REVIEW";
  EXPECT_EQ(fault_in(elsewhere, at("JUDGING"), true), "it is in state JUDGING");
  EXPECT_EQ(fault_in(rerun, at("JUDGING", kMaxSteps), true), "it has entered 1000 states");
  EXPECT_EQ(fault_in(order(PipelineRepair::Kind::end), at("JUDGING", kMaxSteps), true), "") << "that enters no state that runs";
}

TEST_F(PipelineDecisions, ARerunBeginsInAStateThatRanBefore) {  // T9
  using enum PipelineRepair::Kind;
  EXPECT_EQ(state_to_rerun(order(rerun), at("JUDGING"), visited).state, pipeline.find("JUDGING"));
  EXPECT_EQ(state_to_rerun(order(rerun, "JUDGING"), at("REVIEW"), visited).state, pipeline.find("JUDGING"));
  EXPECT_EQ(state_to_rerun(order(rerun, "NONE"), at("REVIEW"), visited).refused, "its pipeline has no state \"NONE\"");
  EXPECT_EQ(state_to_rerun(order(rerun), at("REVIEW"), visited).refused, "state REVIEW runs nothing");
  EXPECT_EQ(state_to_rerun(order(rerun, "JUDGING"), at("REVIEW"), std::vector<std::string>{"REVIEW"}).refused,
            "it has not been in state JUDGING");
}

TEST_F(PipelineDecisions, AnEndIsATerminalState) {  // T9
  using enum PipelineRepair::Kind;
  EXPECT_EQ(state_to_end_in(order(end, "BAD"), at("REVIEW")).state, pipeline.find("BAD"));
  EXPECT_NE(state_to_end_in(order(end), at("REVIEW")).refused.find("several terminal states"), std::string::npos);
  EXPECT_EQ(state_to_end_in(order(end, "JUDGING"), at("REVIEW")).refused, "state JUDGING is not terminal");
  EXPECT_EQ(state_to_end_in(order(end, "NONE"), at("REVIEW")).refused, "its pipeline has no state \"NONE\"");
  EXPECT_EQ(state_to_end_in(order(end), at("GOOD")).state, pipeline.find("GOOD")) << "where it is";
  EXPECT_EQ(state_to_end_in(order(end, "BAD"), at("GOOD")).refused, "it has ended in state GOOD");
  pipeline.states.pop_back();
  EXPECT_EQ(state_to_end_in(order(end), at("REVIEW")).state, pipeline.find("GOOD")) << "there is no other";
}

TEST_F(PipelineDecisions, AnInputIsForTheOneActionThatCanBeMeant) {  // T9
  const PipelineState state{.name = "S", .actions = {{.name = "a"}, {.name = "b"}}};
  auto given = order(PipelineRepair::Kind::rerun);
  const std::vector<ActionRun> both{{0, Status::rejected}, {1, Status::exhausted}},
      one{{0, Status::accepted}, {1, Status::rejected}};
  EXPECT_EQ(place_of_input(given, state, both), std::nullopt);
  EXPECT_EQ(place_of_input(given, state, one), 1u) << "the other one was accepted";
  given.action = "a";
  EXPECT_EQ(place_of_input(given, state, both), 0u);
  EXPECT_EQ(place_of_input(given, state, one), std::nullopt);
}

TEST_F(PipelineDecisions, TheAuditSaysWhatWasOrdered) {  // T9
  EXPECT_EQ(metadata_of(order(PipelineRepair::Kind::end)), R"({"repair":"end"})");
  EXPECT_EQ(metadata_of({.kind = PipelineRepair::Kind::rerun, .action = "a", .input = "{}", .comment = "as agreed"}),
            R"({"repair":"rerun","inputGiven":true,"action":"a","comment":"as agreed"})");
  EXPECT_EQ(metadata_of({.kind = PipelineRepair::Kind::skip, .result = "1"}), R"({"repair":"skip","resultGiven":true})");
}

}  // namespace
}  // namespace waybill
