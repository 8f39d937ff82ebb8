// A pipeline as it is stored: read back the same, and hashed by all that it depends on.  P1 P5
#include "domain/pipeline_definition.h"

#include <gtest/gtest.h>

#include "unit/domain/pipeline_text.h"

namespace waybill {
namespace {

using testing::changed;
using testing::kJudged;
using testing::pipeline_of;

Contract target(const std::string& url = "http://localhost/judge") {
  return {.target = "judge",
          .action_type = "webhook",
          .url = url,
          .destination = "{\"url\":\"" + url + "\"}",
          .policy = Policy::max_attempts,
          .max_attempts = 3,
          .terminal_outcomes = {"gone"}};
}

Contract stage_of(const Pipeline& p, const Contract& contract = target()) {
  return stage_contract(contract, p, p.states[0], p.states[0].actions[0]);
}

PipelineDefinition defined(const std::string& text, const Contract& contract = target()) {
  auto p = pipeline_of(text);
  auto stage = stage_of(p, contract);
  return define_pipeline(std::move(p), text, {std::move(stage)}, {});
}

TEST(PipelineDefinition, IsReadBackAsItWasStored) {  // P1
  const auto made = defined(kJudged);
  const auto read = definition_from_text(made.text);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(diagram_of(read->pipeline), diagram_of(made.pipeline));
  EXPECT_EQ(read->contracts, made.contracts);
  EXPECT_EQ(read->hash, made.hash);
  EXPECT_EQ(read->text, made.text);
}

TEST(PipelineDefinition, HasAnotherHashForEveryDifference) {  // P1
  const auto made = defined(kJudged);
  EXPECT_EQ(made.hash, defined(kJudged).hash);
  EXPECT_NE(made.hash, defined(changed(kJudged, "approve", "agree")).hash) << "a trigger";
  EXPECT_NE(made.hash, defined(kJudged, target("http://localhost/other")).hash) << "a target";
}

TEST(PipelineDefinition, HasAnotherHashWhereAPipelineThatItStartsIsAnother) {  // J4
  const auto text =
      changed(kJudged, R"("BAD": { "terminal": true })", R"("BAD": { "terminal": true, "start": [{ "pipeline": "other" }] })");
  const auto starting = [&](const std::string& other) {
    auto started = std::make_shared<const PipelineDefinition>(defined(changed(kJudged, "judged", other)));
    auto p = pipeline_of(text);
    auto stage = stage_of(p);
    return define_pipeline(std::move(p), text, {std::move(stage)}, {started});
  };
  const auto one = starting("other");
  EXPECT_EQ(one.start_hashes.size(), 1u);
  EXPECT_NE(one.hash, starting("another").hash);
  const auto read = definition_from_text(one.text);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->start_hashes, one.start_hashes);
}

TEST(PipelineDefinition, ThatIsDamagedIsABugAndNoCrash) {  // P1
  const auto text = defined(kJudged).text;
  for (const std::string& damaged : {std::string(), std::string("{}"), std::string("[]"), text.substr(0, text.size() / 2),
                                     changed(text, "initial", "initials"), changed(text, "\"starts\"", "\"ends\""),
                                     changed(text, "max_attempts", "sometimes")}) {
    const auto read = definition_from_text(damaged);
    ASSERT_FALSE(read) << damaged;
    EXPECT_EQ(read.error().kind, Error::Kind::bug);
  }
}

// A host of today may be stricter than the one that stored it: what is under way goes on.
TEST(PipelineDefinition, IsNotCheckedAnewWhenItIsReadBack) {  // P1
  const auto overlapping = changed(kJudged, R"("lessThan": 80)", R"("lessThan": 81)");
  ASSERT_FALSE(read_pipeline(overlapping, "p.json"));
  const auto stored = define_pipeline(pipeline_of(kJudged), overlapping, {stage_of(pipeline_of(kJudged))}, {});
  const auto read = definition_from_text(stored.text);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(to_text(read->pipeline.transitions[1].when), "/result/score < 81");
}

TEST(PipelineDefinition, KnowsTheContractOfEachAction) {  // P2
  const auto text = changed(kJudged, R"("REVIEW": {})",
                            R"("REVIEW": { "run": [{ "target": "a", "name": "a" }, { "target": "b", "name": "b" }] })");
  const auto p = pipeline_of(text);
  const PipelineDefinition definition{.pipeline = p, .contracts = {}};
  EXPECT_EQ(definition.contract_of(p.states[0], 0), 0u);
  EXPECT_EQ(definition.contract_of(p.states[1], 0), 1u);
  EXPECT_EQ(definition.contract_of(p.states[1], 1), 2u);
}

TEST(StageContract, KeepsTheTargetsTermsWhereThePipelineSaysNothing) {  // P5
  const auto contract = stage_of(pipeline_of(kJudged));
  EXPECT_EQ(contract.max_attempts, 3u);
  EXPECT_EQ(contract.url, target().url);
  ASSERT_TRUE(contract.stage);
  EXPECT_EQ(contract.stage->pipeline, "judged");
  EXPECT_EQ(contract.stage->state, "JUDGING");
  EXPECT_FALSE(contract.stage->timing);
  EXPECT_EQ(contract.attempts_for("timeout"), 3u);
  EXPECT_EQ(contract.stage->needed, (std::vector<NeededValue>{{"/score", "number"}}));
}

TEST(StageContract, IsTriedAsOftenAsThePipelineSaysOfItsReason) {  // P5
  const auto p = pipeline_of(
      changed(kJudged, R"({ "target": "judge" })",
              R"({ "target": "judge", "retry": { "attempts": 4, "delay": "30s", "reasons": { "clone_failed": 2 } } })"));
  auto with_deadline = target();
  with_deadline.policy = Policy::deadline;
  with_deadline.max_acceptance = Seconds{30};
  const auto contract = stage_of(p, with_deadline);
  EXPECT_EQ(contract.policy, Policy::max_attempts);
  EXPECT_EQ(contract.max_acceptance, Seconds{0});
  EXPECT_EQ(contract.attempts_for("timeout"), 4u);
  EXPECT_EQ(contract.attempts_for("clone_failed"), 2u);
  ASSERT_TRUE(contract.stage->timing);
  EXPECT_EQ(contract.stage->timing->delay, Millis{30'000});
}

TEST(StageContract, NeedsOfEachActionItsOwnPartOfTheResult) {  // P2
  auto text =
      changed(kJudged, R"([{ "target": "judge" }])", R"([{ "target": "a", "name": "a" }, { "target": "b", "name": "b" }])");
  text = changed(text, R"({ "at": "/result/score", "atLeast": 80 })",
                 R"({ "all": [{ "at": "/result/a/score", "atLeast": 80 }, { "at": "/result/b", "equals": "fine" }] })");
  text = changed(text, R"("when": { "at": "/result/score", "lessThan": 80 })", R"("otherwise": true)");
  const auto p = pipeline_of(text);
  const auto needed = [&](std::size_t action) {
    return stage_contract(target(), p, p.states[0], p.states[0].actions[action]).stage->needed;
  };
  EXPECT_EQ(needed(0), (std::vector<NeededValue>{{"/score", "number"}}));
  EXPECT_EQ(needed(1), (std::vector<NeededValue>{{"", "string"}}));
}

TEST(StageContract, SurvivesTheDatabase) {  // P5
  const auto p = pipeline_of(changed(
      kJudged, R"({ "target": "judge" })",
      R"({ "target": "judge", "retry": { "attempts": 4, "delay": "30s", "factor": 1.5, "maxDelay": "1m", "reasons": { "x": 2 } } })"));
  const auto contract = stage_of(p);
  const auto read = contract_from_json(to_json(contract));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(*read, contract);
}

}  // namespace
}  // namespace waybill
