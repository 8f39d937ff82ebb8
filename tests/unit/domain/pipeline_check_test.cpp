// What is found in a whole pipeline: states, guards and circles that could strand a submission.  P1 P2
#include "domain/pipeline_check.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/domain/pipeline_text.h"

namespace waybill {
namespace {

using testing::changed;
using testing::kJudged;
using testing::pipeline_of;
using testing::problems_of;
using testing::problems_with;

// What is said where the two guards of JUDGING are these.
std::string judged_by(const std::string& good, const std::string& review) {
  auto text = changed(kJudged, R"("when": { "at": "/result/score", "atLeast": 80 })", good);
  return problems_of(changed(text, R"("when": { "at": "/result/score", "lessThan": 80 })", review));
}

TEST(PipelineCheck, FindsNothingInAGoodPipeline) { EXPECT_EQ(problems_of(kJudged), ""); }  // P1

TEST(PipelineCheck, NamesStatesThatNothingReaches) {  // P1
  EXPECT_EQ(problems_with(R"("REVIEW": {},)", "\"REVIEW\": {},\n    \"LOST\": { \"terminal\": true },"),
            "p.json:8: states.LOST: no transition reaches this state");
}

TEST(PipelineCheck, NamesDeadEnds) {  // P1
  EXPECT_EQ(problems_with(R"("GOOD": { "terminal": true })", R"("GOOD": {})"),
            "p.json:8: states.GOOD: no transition leaves this state, and it is not terminal");
}

TEST(PipelineCheck, NamesStatesFromWhichNoWayLeadsToAnEnd) {  // P1
  auto text = changed(kJudged, R"("from": "REVIEW", "to": "GOOD")", R"("from": "REVIEW", "to": "REVIEW")");
  text = changed(text, R"("from": "REVIEW", "to": "BAD")", R"("from": "REVIEW", "to": "REVIEW")");
  text = changed(text, R"("BAD": { "terminal": true })", R"("BAD": { "terminal": true, "description": "lost" })");
  EXPECT_EQ(problems_of(text),
            "p.json:7: states.REVIEW: no way leads from this state to a terminal one\n"
            "p.json:9: states.BAD: no transition reaches this state");
}

TEST(PipelineCheck, NeedsATerminalState) {  // P1
  auto text = changed(kJudged, R"("GOOD": { "terminal": true })", R"("GOOD": {})");
  text = changed(text, R"("BAD": { "terminal": true })", R"("BAD": {})");
  EXPECT_EQ(problems_of(text).substr(0, 63), "p.json: states: no state is terminal: nothing would ever end\np.");
}

TEST(PipelineCheck, LetsNothingLeaveATerminalState) {  // P1
  EXPECT_EQ(problems_with(R"("from": "REVIEW", "to": "BAD")", R"("from": "GOOD", "to": "BAD")"),
            "p.json:15: transitions[3].from: GOOD is terminal: nothing leaves it");
}

TEST(PipelineCheck, NamesAValueForWhichTwoGuardsHold) {  // P2
  EXPECT_EQ(
      judged_by(R"("when": { "at": "/result/score", "atLeast": 80 })", R"("when": { "at": "/result/score", "atMost": 80 })"),
      "p.json:13: transitions[1]: overlaps transitions[0] (line 12) for /result/score = 80");
  EXPECT_EQ(judged_by(R"("description": "x")", R"("description": "y")"),
            "p.json:13: transitions[1]: overlaps transitions[0] (line 12) always");
}

TEST(PipelineCheck, NamesAValueForWhichNoGuardHolds) {  // P2
  EXPECT_EQ(
      judged_by(R"("when": { "at": "/result/score", "moreThan": 80 })", R"("when": { "at": "/result/score", "lessThan": 80 })"),
      "p.json:6: states.JUDGING: no transition leaves it for /result/score = 80");
  EXPECT_EQ(judged_by(R"("when": { "at": "/result/verdict", "equals": "PASS" })",
                      R"("when": { "at": "/result/verdict", "equals": "FAIL" })"),
            "p.json:6: states.JUDGING: no transition leaves it for /result/verdict = \"something else\"");
}

TEST(PipelineCheck, KnowsThatAPayloadMayLackAnything) {  // P2
  EXPECT_EQ(
      judged_by(R"("when": { "at": "/payload/score", "atLeast": 80 })", R"("when": { "at": "/payload/score", "lessThan": 80 })"),
      "p.json:6: states.JUDGING: no transition leaves it for /payload/score = nothing");
  EXPECT_EQ(judged_by(R"("when": { "at": "/payload/score", "atLeast": 80 })", R"("otherwise": true)"), "");
  EXPECT_EQ(
      judged_by(R"("when": { "at": "/payload/ok", "equals": true })", R"("when": { "at": "/payload/ok", "notEquals": true })"),
      "");
}

TEST(PipelineCheck, KnowsThatPartsOfAResultMayBeMissing) {  // P2
  EXPECT_EQ(judged_by(R"("when": { "at": "/result/findings", "count": true, "atLeast": 1 })",
                      R"("when": { "at": "/result/findings", "count": true, "atMost": 0 })"),
            "p.json:6: states.JUDGING: no transition leaves it for count of /result/findings = nothing");
  EXPECT_EQ(
      judged_by(R"("when": { "at": "/result/score", "atLeast": 80 })",
                R"("when": { "any": [{ "at": "/result/score", "lessThan": 80 }, { "at": "/result/score", "exists": false }] })"),
      "p.json:6: states.JUDGING: no transition leaves it for /result/score = \"something else\"");
}

// An action with a `when` of its own may be left out, and then there is no result.
TEST(PipelineCheck, KnowsThatAnActionMayBeLeftOut) {  // P2
  const auto text =
      changed(kJudged, R"({ "target": "judge" })", R"({ "target": "judge", "when": { "at": "/payload/text", "exists": true } })");
  EXPECT_EQ(problems_of(text), "p.json:6: states.JUDGING: no transition leaves it for /result/score = nothing");
  auto good = changed(text, R"("when": { "at": "/result/score", "lessThan": 80 })", R"("otherwise": true)");
  EXPECT_EQ(problems_of(good), "");
  const auto p = pipeline_of(good);
  EXPECT_EQ(needed_values(p, p.states[0]), (std::vector<NeededValue>{{"/score", "number"}}));  // of a result that there is
}

TEST(PipelineCheck, TellsVeryLargeNumbersApart) {  // P2
  EXPECT_EQ(judged_by(R"("when": { "at": "/result/score", "equals": 1e300 })",
                      R"("when": { "at": "/result/score", "lessThan": 1e300 })")
                .substr(0, 66),
            "p.json:6: states.JUDGING: no transition leaves it for /result/scor");
}

TEST(PipelineCheck, CountsInWholeNumbers) {  // P2
  EXPECT_EQ(judged_by(R"("when": { "at": "/payload/list", "count": true, "atLeast": 1 })",
                      R"("when": { "not": { "at": "/payload/list", "count": true, "moreThan": 0 } })"),
            "");
  EXPECT_EQ(judged_by(R"("when": { "at": "/payload/list", "count": true, "atLeast": 2 })",
                      R"("when": { "not": { "at": "/payload/list", "count": true, "moreThan": 0 } })"),
            "p.json:6: states.JUDGING: no transition leaves it for count of /payload/list = 1");
}

TEST(PipelineCheck, TakesOneOtherwiseOfAState) {  // P2
  EXPECT_EQ(judged_by(R"("otherwise": true)", R"("otherwise": true)"),
            "p.json:13: transitions[1]: a state has one transition with `otherwise` at most");
}

TEST(PipelineCheck, LetsPeopleDecideWhatNoGuardLetsGo) {  // P1
  auto text = changed(kJudged, R"("from": "REVIEW", "to": "BAD", "trigger": "reject", "actor": "admin" })",
                      R"("from": "REVIEW", "to": "BAD", "trigger": "hopeless", "actor": "system",
      "when": { "at": "/payload/x", "equals": 1 } })");
  EXPECT_EQ(problems_of(text), "");
}

TEST(PipelineCheck, RefusesADecisionThatIsThereTwice) {  // P4
  EXPECT_EQ(problems_with(R"("from": "REVIEW", "to": "BAD", "trigger": "reject")",
                          R"("from": "REVIEW", "to": "GOOD", "trigger": "approve")"),
            "p.json:9: states.BAD: no transition reaches this state\n"
            "p.json:15: transitions[3]: the same as another one: from REVIEW to GOOD by approve");
}

TEST(PipelineCheck, AsksForAResultOnlyWhereThereIsOne) {  // P2
  EXPECT_EQ(problems_with(R"("run": [{ "target": "judge" }])", ""),
            "p.json:12: transitions[0].when: JUDGING runs no action, so it has no /result/score\n"
            "p.json:13: transitions[1].when: JUDGING runs no action, so it has no /result/score");
  EXPECT_EQ(
      problems_with(R"("trigger": "approve",)", R"("trigger": "approve", "when": { "at": "/result/score", "atLeast": 1 },)"),
      "p.json:14: transitions[2].when: REVIEW runs no action, so it has no /result/score\n"
      "p.json:14: transitions[2].when: only transitions on \"done\" can ask for /result/score");
  EXPECT_EQ(
      problems_with(R"("trigger": "approve", "actor": "admin")", R"("trigger": "approve", "actor": "system", "on": "failure")"),
      "p.json:14: transitions[2].on: REVIEW runs no action that could fail");
}

TEST(PipelineCheck, FindsOverlapsAmongFailures) {  // P5
  const std::string two =
      R"("transitions": [
    { "from": "JUDGING", "to": "BAD", "trigger": "a", "actor": "worker", "on": "failure", "when": { "at": "/stage/attempts", "atLeast": 1 } },
    { "from": "JUDGING", "to": "BAD", "trigger": "b", "actor": "worker", "on": "failure", "when": { "at": "/stage/attempts", "atMost": 1 } },)";
  EXPECT_EQ(problems_with("\"transitions\": [", two),
            "p.json:13: transitions[1]: overlaps transitions[0] (line 12) for /stage/attempts = 1");
}

TEST(PipelineCheck, FindsCirclesWithoutPeople) {  // P1
  const auto circle = changed(kJudged, R"("from": "JUDGING", "to": "REVIEW")", R"("from": "JUDGING", "to": "JUDGING")");
  const auto said = problems_of(circle);
  EXPECT_NE(said.find("transitions[1]: leads back to JUDGING with nobody to decide: it could go round for ever"),
            std::string::npos)
      << said;
  EXPECT_EQ(problems_with(R"("to": "BAD", "trigger": "reject")", R"("to": "JUDGING", "trigger": "again")"),
            "p.json:9: states.BAD: no transition reaches this state");  // a person's way back is none
}

TEST(PipelineCheck, GivesUpOnTooManyValues) {  // P1
  std::string guards;
  for (int i = 0; i < 20; ++i) {
    const auto n = std::to_string(i);
    guards += (i ? ", " : "") + std::string(R"({ "at": "/payload/v)") + n + R"(", "equals": 1 })";
  }
  EXPECT_EQ(judged_by("\"when\": { \"all\": [" + guards + "] }", R"("otherwise": true)"),
            "p.json:6: states.JUDGING: its transitions depend on too many values to be checked");
}

TEST(PipelineCheck, NeedsTheValuesThatGuardsCompare) {  // P2
  const auto p = pipeline_of(kJudged);
  EXPECT_EQ(needed_values(p, p.states[0]), (std::vector<NeededValue>{{"/score", "number"}}));
  EXPECT_EQ(needed_values(p, p.states[1]), std::vector<NeededValue>{});
}

// ---- against a walk over many values ----

using Values = std::map<std::string, JsonValue>;

Guard any_guard(int depth) {
  const auto kind = *rc::gen::inRange(0, depth > 0 ? 8 : 5);
  if (kind >= 5) {
    Guard group{.kind = kind == 5 ? Guard::Kind::all : kind == 6 ? Guard::Kind::any : Guard::Kind::none};
    for (int i = *rc::gen::inRange(1, 3); i > 0; --i) group.children.push_back(any_guard(depth - 1));
    return group;
  }
  const auto number = static_cast<double>(*rc::gen::inRange(0, 6));
  const auto comparison =
      *rc::gen::element(Guard::Kind::less, Guard::Kind::at_most, Guard::Kind::more, Guard::Kind::at_least, Guard::Kind::equals);
  switch (kind) {
    case 0:
    case 1:
      return {.kind = comparison, .term = {.at = "/result/score"}, .value = number};
    case 2:
      return {.kind = comparison, .term = {.at = "/payload/amount"}, .value = number};
    case 3:
      return {.kind = Guard::Kind::equals, .term = {.at = "/payload/flag"}, .value = true};
    default:
      return {.kind = Guard::Kind::in,
              .term = {.at = "/payload/kind"},
              .list = *rc::gen::element(std::vector<std::string>{"a"}, std::vector<std::string>{"a", "b"})};
  }
}

Pipeline any_choice() {
  Pipeline p{.name = "p", .initial = "S"};
  p.states = {{.name = "S", .actions = {{.target = "t"}}, .line = 1}, {.name = "E", .terminal = true, .line = 2}};
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i)
    p.transitions.push_back({.from = "S", .to = "E", .trigger = std::to_string(i), .when = any_guard(2), .line = 10 + i});
  if (*rc::gen::inRange(0, 4) == 0)
    p.transitions.back() = {.from = "S", .to = "E", .trigger = "o", .otherwise = true, .line = 20};
  return p;
}

struct Found {
  bool overlap = false, gap = false;
};

Found walk_of(const Pipeline& p) {
  std::vector<JsonValue> scores, amounts{JsonMissing{}, std::string("3")};
  for (double n = -0.5; n <= 6; n += 0.5) {
    scores.emplace_back(n);
    amounts.emplace_back(n);
  }
  Found found;
  for (const auto& score : scores)
    for (const auto& amount : amounts)
      for (const JsonValue& flag : {JsonValue(true), JsonValue(false), JsonValue(JsonMissing{})})
        for (const JsonValue& kind : {JsonValue("a"), JsonValue("b"), JsonValue("c"), JsonValue(JsonNull{})}) {
          const Values values{
              {"/result/score", score}, {"/payload/amount", amount}, {"/payload/flag", flag}, {"/payload/kind", kind}};
          int open = 0;
          bool has_other = false;
          for (const auto& move : p.transitions) {
            has_other |= move.otherwise;
            open += !move.otherwise && holds(move.when, [&](const Term& term) { return values.at(term.at); });
          }
          found.overlap |= open > 1;
          found.gap |= open == 0 && !has_other;
        }
  return found;
}

RC_GTEST_PROP(PipelineCheckProperty, FindsAnOverlapOrAGapWhereAWalkOverManyValuesDoes, ()) {  // P2
  const auto p = any_choice();
  const auto walked = walk_of(p);
  bool overlap = false, gap = false;
  for (const auto& problem : check_pipeline(p, "p.json")) {
    overlap |= problem.message.starts_with("overlaps");
    gap |= problem.message.starts_with("no transition leaves it ");
  }
  RC_CLASSIFY(walked.overlap, "overlap");
  RC_CLASSIFY(walked.gap, "gap");
  RC_CLASSIFY(!walked.gap && !walked.overlap, "neither");
  RC_ASSERT((overlap || gap) == (walked.overlap || walked.gap));  // the first one found is reported
  if (overlap) RC_ASSERT(walked.overlap);
  if (gap) RC_ASSERT(walked.gap);
}

// Guards that cut the numbers into bands: good by construction, and bad with one bound moved.
RC_GTEST_PROP(PipelineCheckProperty, TakesBandsOfNumbersAndSeesABoundThatMoved, ()) {  // P2
  const auto count = *rc::gen::inRange(1, 6);
  std::set<int> bounds;
  while (bounds.size() < static_cast<std::size_t>(count)) bounds.insert(*rc::gen::inRange(-1000, 1000));
  const std::vector<int> at(bounds.begin(), bounds.end());
  Pipeline p{.name = "p", .initial = "S"};
  p.states = {{.name = "S", .actions = {{.target = "t"}}, .line = 1}, {.name = "E", .terminal = true, .line = 2}};
  for (std::size_t i = 0; i <= at.size(); ++i) {
    Guard band;
    const auto bound = [&](Guard::Kind kind, int value) {
      band.children.push_back({.kind = kind, .term = {.at = "/result/score"}, .value = static_cast<double>(value)});
    };
    if (i > 0) bound(Guard::Kind::at_least, at[i - 1]);
    if (i < at.size()) bound(Guard::Kind::less, at[i]);
    p.transitions.push_back({.from = "S", .to = "E", .trigger = std::to_string(i), .when = band, .line = 3});
  }
  RC_ASSERT(check_pipeline(p, "p.json").empty());
  auto& moved = p.transitions[*rc::gen::inRange<std::size_t>(0, p.transitions.size())].when.children[0];
  moved.value = std::get<double>(moved.value) + *rc::gen::element(-0.001, 0.001);
  RC_ASSERT(check_pipeline(p, "p.json").size() == 1);
}

}  // namespace
}  // namespace waybill
