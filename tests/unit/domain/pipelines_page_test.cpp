// docs/pipelines.md: its example is a pipeline, and its messages are what is said when the example is changed.  P1
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "unit/domain/pipeline_text.h"

namespace waybill {
namespace {

using testing::changed;

const std::string& pipelines_page() {
  static const auto* text = [] {
    std::ostringstream all;
    all << std::ifstream(WAYBILL_SOURCE_DIR "/docs/pipelines.md").rdbuf();
    return new std::string(all.str());
  }();
  return *text;
}

std::string example() {
  const std::string fence = "```json pipeline\n";
  const auto begin = pipelines_page().find(fence) + fence.size();
  return pipelines_page().substr(begin, pipelines_page().find("```", begin) - begin);
}

// The messages, as the page writes them, without the file and its line.
std::vector<std::string> said_of(const std::string& text) {
  std::vector<std::string> said;
  const auto pipeline = read_pipeline(text, "");
  if (!pipeline)
    for (const auto& problem : pipeline.error()) said.push_back(problem.field + ": " + problem.message);
  return said;
}

struct Change {
  std::vector<std::pair<std::string, std::string>> edits;
  std::string message;
};

TEST(PipelinesPage, HasAnExampleThatIsAPipeline) {  // P1
  EXPECT_EQ(said_of(example()), std::vector<std::string>{});
}

TEST(PipelinesPage, SaysOfEachMistakeWhatIsSaidOfIt) {  // P1
  const std::string missing = R"("when": { "at": "/result/missing", "atMost": 0 })";
  const std::string present = R"("when": { "at": "/result/missing", "moreThan": 0 })";
  const std::string approve = R"("to": "APPROVED", "trigger": "approve", "actor": "admin", "role": "member")";
  const std::string reject =
      R"({ "from": "WAITING", "to": "REJECTED", "trigger": "reject", "actor": "admin", "role": "member" },)";
  const Change changes[] = {
      {{{R"("description": "somebody approves or rejects" })", R"("timeout": "5d" })"}},
       "states.WAITING.timeout: unknown field (known here: description, terminal, order, run, start)"},
      {{{approve, R"("to": "APROVED", "trigger": "approve", "actor": "admin")"}},
       "transitions[2].to: there is no state \"APROVED\""},
      {{{R"("DONE": { "terminal": true })", R"("DONE": { "terminal": true }, "LOST": { "terminal": true })"}},
       "states.LOST: no transition reaches this state"},
      {{{R"({ "from": "WAITING", )" + approve + " },", ""}, {reject, ""}},
       "states.WAITING: no transition leaves this state, and it is not terminal"},
      {{{approve, R"("to": "WAITING", "trigger": "approve", "actor": "admin")"},
        {reject, R"({ "from": "WAITING", "to": "WAITING", "trigger": "reject", "actor": "admin" },)"}},
       "states.WAITING: no way leads from this state to a terminal one"},
      {{{R"("DONE": { "terminal": true })", R"("DONE": {})"}}, "states: no state is terminal: nothing would ever end"},
      {{{missing, R"("when": { "at": "/result/missing", "lessThan": 0 })"}},
       "states.CHECKING: no transition leaves it for /result/missing = 0"},
      {{{present, R"("when": { "at": "/result/missing", "atLeast": 0 })"}},
       "transitions[1]: overlaps transitions[0] (line 20) for /result/missing = 0"},
      {{{missing, R"("otherwise": true)"}, {present, R"("otherwise": true)"}},
       "transitions[1]: a state has one transition with `otherwise` at most"},
      {{{R"({ "from": "APPROVED", "to": "DONE")", R"({ "from": "APPROVED", "to": "APPROVED")"}},
       "transitions[4]: leads back to APPROVED with nobody to decide: it could go round for ever"},
      {{{missing, R"("when": { "at": "/result/by", "in": "trusted" })"}}, "transitions[0].when.in: there is no list \"trusted\""},
      {{{approve, approve + ", " + missing}}, "transitions[2].when: only transitions on \"done\" can ask for /result/missing"},
      {{{approve, R"("to": "APPROVED", "trigger": "approve", "actor": "system", "on": "failure")"}},
       "transitions[2].on: WAITING runs no action that could fail"},
      {{{missing, R"("when": { "at": "/answer/missing", "atMost": 0 })"}},
       "transitions[0].when.at: must begin with one of /payload, /result, /results, /metadata, /stage, /submissionId"}};
  for (const auto& change : changes) {
    auto text = example();
    for (const auto& [what, instead] : change.edits) text = changed(text, what, instead);
    const auto said = said_of(text);
    EXPECT_TRUE(std::any_of(said.begin(), said.end(), [&](const auto& one) { return one == change.message; }))
        << change.message << "\nbut: " << ::testing::PrintToString(said);
    EXPECT_NE(pipelines_page().find("`" + change.message + "`"), std::string::npos) << change.message << " is not on the page";
  }
}

}  // namespace
}  // namespace waybill
