// Pipeline files, field by field: what each becomes, and what is said of each mistake, with file, line and field.  P1
#include "domain/pipeline_reader.h"

#include <gtest/gtest.h>

#include "unit/domain/pipeline_text.h"

namespace waybill {
namespace {

using testing::changed;
using testing::kJudged;
using testing::pipeline_of;
using testing::problems_of;
using testing::problems_with;

constexpr const char* kJudge = R"({ "target": "judge" })";
constexpr const char* kApprove = R"("trigger": "approve", "actor": "admin")";
constexpr const char* kPass = R"("when": { "at": "/result/score", "atLeast": 80 })";

// What is said of the pipeline with these fields more.
std::string with_top(const std::string& fields) { return problems_with(R"("initial")", fields + R"(, "initial")"); }

TEST(PipelineReader, ReadsWhatAFileSays) {  // P1
  const auto p = pipeline_of(kJudged);
  EXPECT_EQ(p.name, "judged");
  EXPECT_EQ(p.initial, "JUDGING");
  EXPECT_EQ(p.submit_trigger, "submit");
  EXPECT_EQ(p.reference.at, "/metadata/reference");
  ASSERT_EQ(p.states.size(), 4u);
  EXPECT_EQ(p.states[0].name, "JUDGING");
  EXPECT_EQ(p.states[0].actions.at(0).target, "judge");
  EXPECT_EQ(p.states[0].line, 6);
  EXPECT_TRUE(p.states[2].terminal);
  ASSERT_EQ(p.transitions.size(), 4u);
  EXPECT_EQ(p.transitions[0].actor, ActorKind::worker);
  EXPECT_EQ(to_text(p.transitions[0].when), "/result/score >= 80");
  EXPECT_EQ(p.transitions[2].role, "admin");
  EXPECT_EQ(p.transitions[2].line, 14);
  EXPECT_EQ(p.find("REVIEW"), &p.states[1]);
  EXPECT_EQ(p.find("review"), nullptr);
}

TEST(PipelineReader, ReadsEveryFieldOfAnAction) {  // P1 P5
  const auto text = changed(kJudged, R"("when": { "at": "/result/score", "lessThan": 80 })", R"("otherwise": true)");
  const auto p = pipeline_of(
      changed(text, kJudge,
              R"({ "target": "judge", "name": "j", "input": "/payload/text", "when": { "at": "/payload/x", "exists": true },
          "retry": { "attempts": 4, "delay": "30s", "factor": 3, "maxDelay": "5m", "reasons": { "clone_failed": 2 } } })"));
  const auto& action = p.states[0].actions.at(0);
  EXPECT_EQ(action.name, "j");
  EXPECT_EQ(action.input, "/payload/text");
  EXPECT_EQ(to_text(action.when), "/payload/x is there");
  ASSERT_TRUE(action.retry);
  EXPECT_EQ(action.retry->attempts, 4u);
  EXPECT_EQ(action.retry->by_reason, (std::map<std::string, std::uint32_t>{{"clone_failed", 2}}));
  EXPECT_EQ(
      *action.retry->timing,
      (RetryTiming{.kind = RetryTiming::Kind::exponential, .delay = Millis{30'000}, .factor = 3, .max_delay = Millis{300'000}}));
}

TEST(PipelineReader, ReadsMetricsAndLevels) {  // P6
  const auto p = pipeline_of(changed(kJudged, R"("initial")",
                                     R"("metrics": [{ "name": "judging_ms", "kind": "duration", "state": "JUDGING" }],
      "sla": [{ "name": "Judging", "from": "JUDGING", "to": ["GOOD"], "except": ["REVIEW"], "target": "500ms", "p95": "5d" }], "initial")"));
  ASSERT_EQ(p.metrics.size(), 1u);
  EXPECT_EQ(p.metrics[0].kind, PipelineMetric::Kind::duration);
  ASSERT_EQ(p.levels.size(), 1u);
  EXPECT_EQ(p.levels[0].target, Millis{500});
  EXPECT_EQ(p.levels[0].p95, Millis{432'000'000});
  EXPECT_EQ(p.levels[0].to, std::vector<std::string>{"GOOD"});
  EXPECT_EQ(p.levels[0].except, std::vector<std::string>{"REVIEW"});
}

struct Mistake {
  const char* what;  // of the text, replaced
  const char* instead;
  const char* said;
};

// File, line and field are part of each message.
void expect_said(std::initializer_list<Mistake> mistakes) {
  for (const auto& one : mistakes) EXPECT_EQ(problems_with(one.what, one.instead), one.said);
}

TEST(PipelineReader, NamesMistakesAtTheTop) {  // P1
  expect_said(
      {Mistake{R"("pipeline": "judged",)", "", "p.json:1: pipeline: is missing"},
       Mistake{R"("judged")", R"("jud ged")", "p.json:2: pipeline: must be letters, digits, _ and -, at most 64"},
       Mistake{R"("judged")", R"("form")", "p.json:2: pipeline: is a name of Waybill's own: form"},
       Mistake{R"("judged")", "7", "p.json:2: pipeline: must be a string"},
       Mistake{R"("judged")", R"("judged", "name": "x")",
               "p.json:2: name: unknown field (known here: $schema, pipeline, description, path, submit, reference, lists, "
               "initial, states, transitions, metrics, sla)"},
       Mistake{R"("judged")", R"("judged", "path": "/mail")", "p.json:2: path: must be \"/forms\""},
       Mistake{R"("judged")", R"("judged", "submit": "")",
               "p.json:2: submit: must be 1 to 4096 bytes without control characters"},
       Mistake{R"("judged")", R"("judged", "description": "a\nb")",
               "p.json:2: description: must be 1 to 4096 bytes without control characters"},
       Mistake{R"("judged")", R"("judged", "reference": "metadata")",
               "p.json:2: reference: must be a JSON pointer such as \"/result/score\""},
       Mistake{R"("initial": "JUDGING")", R"("initial": "JUDGED")", "p.json:3: initial: there is no state \"JUDGED\""},
       Mistake{R"(["acme", "globex"])", "[]", "p.json:4: lists.trusted: must be an array of 1 to 10000 strings"},
       Mistake{R"(["acme", "globex"])", "[1]", "p.json:4: lists.trusted: must hold strings only"},
       Mistake{R"({ "trusted": ["acme", "globex"] })", "[]",
               "p.json:4: lists: must be an object: a name with an array of strings each"}});
}

TEST(PipelineReader, NamesMistakesInStates) {  // P1
  expect_said(
      {Mistake{R"("REVIEW": {})", R"("REVIEW": { "timeout": "5m" })",
               "p.json:7: states.REVIEW.timeout: unknown field (known here: description, terminal, order, run, start)"},
       Mistake{R"("REVIEW": {})", R"("REVIEW": [])", "p.json:7: states.REVIEW: must be an object"},
       Mistake{R"("REVIEW": {})", R"("REVIEW": { "run": {} })", "p.json:7: states.REVIEW.run: must be an array"},
       Mistake{R"("REVIEW": {})", R"("REVIEW": { "run": "own" })", "p.json:7: states.REVIEW.run: must be an array"},
       Mistake{R"("REVIEW": {})", R"("REVIEW": { "terminal": "no" })", "p.json:7: states.REVIEW.terminal: must be true or false"},
       Mistake{R"("REVIEW": {})", R"("REVIEW": { "order": "attempted" })",
               "p.json:7: states.REVIEW.order: must be \"in_order\" or \"parallel\""},
       Mistake{R"("REVIEW": {})", R"("REVIEW": { "run": [{ "target": "a" }, { "target": "b", "name": "b" }] })",
               "p.json:7: states.REVIEW.run[0].name: is missing: a state with several actions names the result of each"},
       Mistake{R"("REVIEW": {})", R"("REVIEW": { "run": [{ "target": "a", "name": "b" }, { "target": "b", "name": "b" }] })",
               "p.json:7: states.REVIEW.run[1].name: is taken by an action before"},
       Mistake{R"("REVIEW": {})", R"("REVIEW": { "start": [{ "payload": "/payload" }] })",
               "p.json:7: states.REVIEW.start[0].pipeline: is missing"},
       Mistake{R"("REVIEW": {})", R"("RE VIEW": {}, "REVIEW": {})",
               "p.json:7: states[\"RE VIEW\"]: a state's name must be letters, digits, _ and -, at most 64"}});
}

TEST(PipelineReader, NamesMistakesInActions) {  // P1 P5
  expect_said(
      {Mistake{kJudge, "{}", "p.json:6: states.JUDGING.run[0].target: is missing"},
       Mistake{kJudge, "7", "p.json:6: states.JUDGING.run[0]: must be an object"},
       Mistake{kJudge, R"({ "target": "judge", "patience": 5 })",
               "p.json:6: states.JUDGING.run[0].patience: unknown field (known here: target, name, input, when, retry, timeout)"},
       Mistake{kJudge, R"({ "target": "judge", "timeout": 5 })",  // T25
               "p.json:6: states.JUDGING.run[0].timeout: must be how long one attempt may take, from 10ms to 1h: \"30s\""},
       Mistake{kJudge, R"({ "target": "judge", "input": "/answer" })",
               "p.json:6: states.JUDGING.run[0].input: must begin with one of /payload, /result, /results, /metadata, /stage, "
               "/submissionId"},
       Mistake{kJudge, R"({ "target": "judge", "retry": {} })", "p.json:6: states.JUDGING.run[0].retry.attempts: is missing"},
       Mistake{kJudge, R"({ "target": "judge", "retry": { "attempts": 0 } })",
               "p.json:6: states.JUDGING.run[0].retry.attempts: must be a whole number from 1 to 1000"},
       Mistake{kJudge, R"({ "target": "judge", "retry": { "attempts": 2, "delay": "soon" } })",
               "p.json:6: states.JUDGING.run[0].retry.delay: must be a duration such as \"500ms\", \"30s\", \"5m\", \"2h\" or "
               "\"5d\", at most 365d"},
       Mistake{kJudge, R"({ "target": "judge", "retry": { "attempts": 2, "delay": "0s" } })",
               "p.json:6: states.JUDGING.run[0].retry.delay: must be a duration such as \"500ms\", \"30s\", \"5m\", \"2h\" or "
               "\"5d\", at most 365d"},
       Mistake{kJudge, R"({ "target": "judge", "retry": { "attempts": 2, "delay": "1s", "factor": 0.5 } })",
               "p.json:6: states.JUDGING.run[0].retry.factor: must be a number from 1 to 100"},
       Mistake{kJudge, R"({ "target": "judge", "retry": { "attempts": 2, "maxDelay": "1s" } })",
               "p.json:6: states.JUDGING.run[0].retry.maxDelay: needs a delay beside it"},
       Mistake{kJudge, R"({ "target": "judge", "retry": { "attempts": 2, "reasons": { "timeout": 1001 } } })",
               "p.json:6: states.JUDGING.run[0].retry.reasons.timeout: must be a whole number from 1 to 1000"},
       Mistake{kJudge, R"({ "target": "judge", "retry": { "attempts": 2, "reasons": ["timeout"] } })",
               "p.json:6: states.JUDGING.run[0].retry.reasons: must be an object: a reason with its number of attempts each"}});
}

TEST(PipelineReader, NamesMistakesInTransitions) {  // P1
  expect_said(
      {Mistake{kApprove, R"("trigger": "approve", "actor": "robot")",
               "p.json:14: transitions[2].actor: must be \"system\", \"worker\" or \"admin\""},
       Mistake{kApprove, R"("actor": "admin")", "p.json:14: transitions[2].trigger: is missing"},
       Mistake{kApprove, R"("trigger": "approve", "actor": "admin", "role": "operator")",
               "p.json:14: transitions[2].role: must be \"member\", \"admin\" or \"owner\""},
       Mistake{kApprove, R"("trigger": "approve", "actor": "admin", "on": "failure")",
               "p.json:14: transitions[2].on: is for actors system and worker only"},
       Mistake{kApprove, R"("trigger": "approve", "actor": "admin", "otherwise": true)",
               "p.json:14: transitions[2].otherwise: is for actors system and worker only"},
       Mistake{kApprove, R"("trigger": "approve", "actor": "admin", "audit": "x")",
               "p.json:14: transitions[2].audit: unknown field (known here: from, to, trigger, actor, on, when, otherwise, role, "
               "metadata, description)"},
       Mistake{kApprove, R"("trigger": "approve", "actor": "admin", "metadata": { "n": "result" })",
               "p.json:14: transitions[2].metadata.n: must be a JSON pointer such as \"/result/score\""},
       Mistake{kApprove, R"("trigger": "approve", "actor": "admin", "metadata": { "n": { "at": "/payload", "equals": 1 } })",
               "p.json:14: transitions[2].metadata.n.equals: unknown field (known here: at, urlPart, match, group, count, "
               "ignoreCase)"},
       Mistake{kPass, R"("when": { "at": "/result/score", "atLeast": 80 }, "role": "admin")",
               "p.json:12: transitions[0].role: is for actor \"admin\" only"},
       Mistake{kPass, R"("when": { "at": "/result/score", "atLeast": 80 }, "otherwise": true)",
               "p.json:12: transitions[0].otherwise: stands instead of a `when`, not beside it"},
       Mistake{kPass, R"("when": { "at": "/result/score", "atLeast": 80 }, "on": "retention")",
               "p.json:12: transitions[0].on: must be \"done\" or \"failure\""},
       Mistake{R"("from": "REVIEW", "to": "GOOD")", R"("from": "REVIEV", "to": "GOD")",
               "p.json:14: transitions[2].from: there is no state \"REVIEV\"\n"
               "p.json:14: transitions[2].to: there is no state \"GOD\""}});
}

TEST(PipelineReader, NamesMistakesInGuards) {  // P1 P2
  expect_said(
      {Mistake{kPass, R"("when": "always")",
               "p.json:12: transitions[0].when: must be an object: a comparison, or all, any or not"},
       Mistake{kPass, R"("when": { "at": "/result/score" })",
               "p.json:12: transitions[0].when: compares with nothing: it needs one of equals, notEquals, lessThan, atMost, "
               "moreThan, atLeast, in, notIn, exists, matches"},
       Mistake{kPass, R"("when": { "atLeast": 80 })", "p.json:12: transitions[0].when.at: is missing"},
       Mistake{kPass, R"("when": { "at": "/result/score", "atLeast": "80" })",
               "p.json:12: transitions[0].when.atLeast: must be a number"},
       Mistake{kPass, R"("when": { "at": "/result/score", "equals": [80] })",
               "p.json:12: transitions[0].when.equals: must be a string, a number, true, false or null"},
       Mistake{kPass, R"("when": { "at": "/result/score", "in": "trustet" })",
               "p.json:12: transitions[0].when.in: there is no list \"trustet\""},
       Mistake{kPass, R"("when": { "at": "/result/score", "in": [] })",
               "p.json:12: transitions[0].when.in: must be the name of a list, or an array of strings"},
       Mistake{kPass, R"("when": { "at": "/result/score", "exists": "yes" })",
               "p.json:12: transitions[0].when.exists: must be true or false"},
       Mistake{kPass, R"("when": { "at": "/result/score", "matches": "(" })",
               "p.json:12: transitions[0].when.matches: is no regular expression"},
       Mistake{kPass, R"("when": { "at": "/result/score", "match": "[", "equals": "a" })",
               "p.json:12: transitions[0].when.match: is no regular expression"},
       Mistake{kPass, R"("when": { "at": "/result/score", "group": 1, "equals": "a" })",
               "p.json:12: transitions[0].when.group: must be the number of a group of `match`, from 0 to 20"},
       Mistake{kPass, R"("when": { "at": "/result/score", "urlPart": "query", "equals": "a" })",
               "p.json:12: transitions[0].when.urlPart: must be \"scheme\", \"host\", \"path\", or \"path/N\" with the number of "
               "a segment from 0"},
       Mistake{kPass, R"("when": { "all": [] })", "p.json:12: transitions[0].when.all: must be an array of guards"},
       Mistake{
           kPass, R"("when": { "any": [{ "at": "/result/score", "above": 80 }] })",
           "p.json:12: transitions[0].when.any[0].above: unknown field (known here: all, any or not alone; at, urlPart, match, "
           "group, count, ignoreCase, equals, notEquals, lessThan, atMost, moreThan, atLeast, in, notIn, exists, matches)\n"
           "p.json:12: transitions[0].when.any[0]: compares with nothing: it needs one of equals, notEquals, lessThan, "
           "atMost, moreThan, atLeast, in, notIn, exists, matches"}});
}

TEST(PipelineReader, NamesMistakesInMetricsAndLevels) {  // P6
  expect_said(
      {Mistake{R"("judged")", R"("judged", "metrics": [{ "name": "Rate", "kind": "rate", "state": "GOOD" }])",
               "p.json:2: metrics[0].name: must be small letters, digits and _, and begin with no digit"},
       Mistake{R"("judged")", R"("judged", "metrics": [{ "name": "queue_depth", "kind": "rate", "state": "GOOD" }])",
               "p.json:2: metrics[0].name: is a name of Waybill's own"},
       Mistake{R"("judged")", R"("judged", "metrics": [{ "name": "a", "kind": "count", "state": "GOOD" }])",
               "p.json:2: metrics[0].kind: must be \"duration\" or \"rate\""},
       Mistake{R"("judged")", R"("judged", "metrics": [{ "name": "a", "kind": "rate", "state": "FINE" }])",
               "p.json:2: metrics[0].state: there is no state \"FINE\""},
       Mistake{R"("judged")", R"("judged", "sla": [{ "name": "a", "target": "1s", "p95": "2s" }])",
               "p.json:2: sla[0]: needs a `from`, a `to`, or both"},
       Mistake{R"("judged")", R"("judged", "sla": [{ "name": "a", "to": ["GOOD"], "p95": "2s" }])",
               "p.json:2: sla[0].target: is missing"},
       Mistake{R"("judged")", R"("judged", "sla": [{ "name": "a", "to": ["FINE"], "target": "1s", "p95": "2s" }])",
               "p.json:2: sla[0].to: there is no state \"FINE\""},
       Mistake{R"("judged")", R"("judged", "sla": [{ "name": "a", "to": ["GOOD"], "target": "1s", "p95": "366d" }])",
               "p.json:2: sla[0].p95: must be a duration such as \"500ms\", \"30s\", \"5m\", \"2h\" or \"5d\", at most 365d"}});
}

TEST(PipelineReader, FindsAllMistakesNotOnlyTheFirst) {  // P1
  auto text = changed(kJudged, R"("judged")", "7");
  text = changed(text, kJudge, "{}");
  text = changed(text, kApprove, R"("trigger": "approve", "actor": "robot")");
  const auto said = problems_of(text);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;
}

TEST(PipelineReader, RefusesWhatIsTooMuch) {  // P1
  std::string states, transitions, actions, strings = "\"a\"";
  for (int i = 0; i < 100; ++i) states += "\"S" + std::to_string(i) + "\": {}, ";
  for (int i = 0; i < 1001; ++i) transitions += R"({ "from": "REVIEW", "to": "GOOD", "trigger": "t", "actor": "admin" }, )";
  for (int i = 0; i < 21; ++i)
    actions += (i ? ", " : "") + std::string(R"({ "target": "t", "name": "n)") + std::to_string(i) + "\" }";
  for (int i = 0; i < 10'000; ++i) strings += ", \"a\"";
  EXPECT_EQ(problems_with(R"("REVIEW": {})", states + R"("REVIEW": {})").substr(0, 49),
            "p.json:5: states: must not hold more than 100\np.j");
  EXPECT_EQ(problems_with("\"transitions\": [", "\"transitions\": [" + transitions),
            "p.json:11: transitions: must not hold more than 1000");
  EXPECT_EQ(problems_with(kJudge, actions), "p.json:6: states.JUDGING.run: must not hold more than 20");
  EXPECT_EQ(problems_with(R"("acme", "globex")", strings), "p.json:4: lists.trusted: must be an array of 1 to 10000 strings");
}

TEST(PipelineReader, TakesWhatIsAllowed) {  // P1
  for (const char* when : {R"({ "at": "/payload/u", "urlPart": "path/999", "exists": true })",
                           R"({ "at": "/payload/u", "match": "^(a)(b)$", "group": 2, "ignoreCase": true, "in": "trusted" })",
                           R"({ "at": "/submissionId", "matches": "^a" })", R"({ "at": "", "exists": true })"})
    EXPECT_EQ(problems_with(kApprove, kApprove + std::string(", \"when\": ") + when), "") << when;
  EXPECT_EQ(with_top(R"("path": "/forms", "$schema": "../schemas/pipeline.schema.json", "reference": "/payload/no")"), "");
}

TEST(PipelineReader, KeepsWhatIsWaybillsOwnFromOthers) {  // P1
  const auto text = changed(kJudged, R"("REVIEW": {})", R"("REVIEW": { "order": "attempted" })");
  EXPECT_TRUE(read_pipeline(text, "p.json", PipelineOrigin::built_in));
  EXPECT_FALSE(read_pipeline(text, "p.json"));
}

TEST(PipelineReader, SurvivesEveryCutAndEveryWrongByte) {  // P1
  const auto check = [&](const std::string& text) {
    const auto pipeline = read_pipeline(text, "p.json");
    if (pipeline) return;
    ASSERT_FALSE(pipeline.error().empty());
    for (const auto& problem : pipeline.error()) ASSERT_FALSE(problem.message.empty());
  };
  for (std::size_t at = 0; at < kJudged.size(); ++at) {
    check(kJudged.substr(0, at));
    check(std::string(kJudged).erase(at, 1));
    for (const char byte : {'\0', '"', '\n', '\xFF', '}', '/'}) check(std::string(kJudged).replace(at, 1, 1, byte));
    if (HasFatalFailure()) FAIL() << "at byte " << at;
  }
}

}  // namespace
}  // namespace waybill
