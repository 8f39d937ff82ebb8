// registry/schemas/pipeline.schema.json against the reader: both take the shipped files, both refuse the same mistakes, both know
// the same fields.  P1
#include <gtest/gtest.h>

#include <set>

#include "base/json_document.h"
#include "domain/pipeline_reader.h"
#include "unit/registry/file_schema.h"

namespace waybill {
namespace {

using nlohmann::json;
using testing::FileSchema;
using testing::kSampleRegistry;
using testing::text_of;

constexpr const char* kName = "pipeline.schema.json";

// Every field that a file can have.
json whole() {
  return json::parse(R"-({
    "$schema": "../schemas/pipeline.schema.json",
    "pipeline": "whole", "description": "d", "path": "/forms", "submit": "s", "reference": "/metadata/ref",
    "lists": {"l": ["a"]},
    "initial": "A",
    "states": {
      "A": {"description": "d", "order": "parallel", "run": [
        {"target": "t", "name": "one", "input": "/payload", "when": {"at": "/payload/a", "exists": true},
         "retry": {"attempts": 2, "delay": "1s", "factor": 2.5, "maxDelay": "1m", "reasons": {"r": 1}}, "timeout": "40s"},
        {"target": "t", "name": "two"}]},
      "B": {"terminal": true, "start": [{"pipeline": "p", "payload": "/payload", "when": {"at": "/payload/a", "equals": null}}]},
      "C": {"terminal": true}
    },
    "transitions": [
      {"from": "A", "to": "B", "trigger": "t", "actor": "worker", "on": "done", "description": "d",
       "when": {"all": [
         {"any": [{"at": "/result/two/u", "urlPart": "path/0", "ignoreCase": true, "in": "l"},
                  {"at": "/payload/x", "match": "(a)", "group": 1, "notIn": ["a", "b"]}]
},
         {"not": {"at": "/payload/c", "count": true, "moreThan": 1, "atMost": 5}}]
}
, "metadata" : {
  "a" : "/stage/attempts", "b" : { "at" : "/payload/c", "count" : true }
}
},
      {"from": "A", "to": "B", "trigger": "o", "actor": "system", "otherwise": true},
      {"from": "A", "to": "C", "trigger": "f", "actor": "worker", "on": "failure"},
      {"from": "A", "to": "C", "trigger": "m", "actor": "admin", "role": "member", "when": {"at": "/payload/a", "matches": "x"}}
    ],
    "metrics": [{"name": "m", "kind": "duration", "state": "A"}],
    "sla": [{"name": "l", "from": "A", "to": ["B"], "except": ["C"], "target": "1s", "p95": "2s"}]
})-");
}

// "" or what is wrong.
std::string fault(const json& file) {
  const auto pipeline = read_pipeline(file.dump(1), "p.json");
  return pipeline ? "" : to_string(pipeline.error().front());
}

json changed(const std::string& pointer, const char* value) {
  auto file = whole();
  file[json::json_pointer(pointer)] = json::parse(value);
  return file;
}

TEST(PipelineSchema, TakesTheShippedPipelines) {  // P1
  FileSchema schema(kName);
  int count = 0;
  for (const auto* folder : {"pipelines", "staged-jobs/pipelines"})
    for (const auto& file : std::filesystem::directory_iterator(kSampleRegistry / folder)) {
      EXPECT_TRUE(schema.accepts(json::parse(without_comments(text_of(file.path()))))) << file.path();
      ++count;
    }
  EXPECT_GE(count, 4);
}

TEST(PipelineSchema, TakesEveryFieldThatTheReaderTakes) {  // P1
  EXPECT_EQ(fault(whole()), "");
  EXPECT_TRUE(FileSchema(kName).accepts(whole()));
}

TEST(PipelineSchema, RefusesWhatTheReaderRefuses) {  // P1
  const std::pair<const char*, const char*> changes[] = {
      {"/more", "1"},
      {"/pipeline", "\"a b\""},
      {"/pipeline", "\"intent\""},
      {"/pipeline", "7"},
      {"/description", "\"\""},
      {"/description", R"("a\nb")"},
      {"/path", "\"/mail\""},
      {"/submit", "[]"},
      {"/reference", "\"metadata\""},
      {"/reference", "\"/answer\""},
      {"/reference", "\"/payload~\""},
      {"/lists", "[]"},
      {"/lists/l", "[]"},
      {"/lists/l", "[1]"},
      {"/initial", "\"A/B\""},
      {"/states", "{}"},
      {"/states", "[]"},
      {"/states/a b", "{}"},
      {"/states/A", "7"},
      {"/states/A/more", "1"},
      {"/states/A/terminal", "\"no\""},
      {"/states/A/order", "\"attempted\""},
      {"/states/A/run", "\"own\""},
      {"/states/A/run/0/target", "null"},
      {"/states/A/run/0/name", "\"a b\""},
      {"/states/A/run/0/input", "\"payload\""},
      {"/states/A/run/0/when", "{}"},
      {"/states/A/run/0/more", "1"},
      {"/states/A/run/0/timeout", "\"soon\""},
      {"/states/A/run/0/timeout", "40"},
      {"/states/A/run/0/retry", "{}"},
      {"/states/A/run/0/retry/attempts", "0"},
      {"/states/A/run/0/retry/attempts", "1001"},
      {"/states/A/run/0/retry/attempts", "\"2\""},
      {"/states/A/run/0/retry/delay", "\"soon\""},
      {"/states/A/run/0/retry/delay", "\"0s\""},
      {"/states/A/run/0/retry/delay", "30"},
      {"/states/A/run/0/retry/factor", "0.5"},
      {"/states/A/run/0/retry/reasons", "[]"},
      {"/states/A/run/0/retry/reasons/r", "0"},
      {"/states/A/run/0/retry/more", "1"},
      {"/states/A/run/0/retry", R"({"attempts": 2, "maxDelay": "1s"})"},
      {"/states/B/start/0/pipeline", "\"\""},
      {"/states/B/start/0/more", "1"},
      {"/states/B/start/0", "{}"},
      {"/transitions", "{}"},
      {"/transitions/0/from", "7"},
      {"/transitions/0/trigger", "\"\""},
      {"/transitions/0/actor", "\"robot\""},
      {"/transitions/0/on", "\"success\""},
      {"/transitions/0/role", "\"admin\""},
      {"/transitions/0/otherwise", "true"},
      {"/transitions/0/audit", "\"x\""},
      {"/transitions/0/metadata", "[]"},
      {"/transitions/0/metadata/a", "\"stage\""},
      {"/transitions/0/metadata/a", R"({"at": "/payload", "equals": 1})"},
      {"/transitions/0/metadata/a", "{}"},
      {"/transitions/3/role", "\"operator\""},
      {"/transitions/3/on", "\"done\""},
      {"/transitions/3/otherwise", "true"},
      {"/transitions/0/when", "\"always\""},
      {"/transitions/0/when", "{}"},
      {"/transitions/0/when", R"({"all": []})"},
      {"/transitions/0/when", R"({"all": {"at": "/payload", "exists": true}})"},
      {"/transitions/0/when", R"({"all": [{"at": "/payload", "exists": true}], "any": []})"},
      {"/transitions/0/when", R"({"at": "/payload"})"},
      {"/transitions/0/when", R"({"exists": true})"},
      {"/transitions/0/when", R"({"at": "/payload", "above": 1})"},
      {"/transitions/0/when", R"({"at": "/payload", "atLeast": "1"})"},
      {"/transitions/0/when", R"({"at": "/payload", "equals": []})"},
      {"/transitions/0/when", R"({"at": "/payload", "in": []})"},
      {"/transitions/0/when", R"({"at": "/payload", "in": [1]})"},
      {"/transitions/0/when", R"({"at": "/payload", "exists": "yes"})"},
      {"/transitions/0/when", R"({"at": "/payload", "urlPart": "query", "exists": true})"},
      {"/transitions/0/when", R"({"at": "/payload", "urlPart": "path/1000", "exists": true})"},
      {"/transitions/0/when", R"({"at": "/payload", "group": 1, "exists": true})"},
      {"/transitions/0/when", R"-({"at": "/payload", "match": "(a)", "group": 21, "exists": true})-"},
      {"/transitions/0/when", R"({"at": "/payload", "count": 1, "exists": true})"},
      {"/transitions/0/when", R"({"at": "/payload", "matches": 1})"},
      {"/metrics/0/name", "\"Rate\""},
      {"/metrics/0/name", "\"submission_rate\""},
      {"/metrics/0/name", "\"queue_depth\""},
      {"/metrics/0/name", "\"1rate\""},
      {"/metrics/0/kind", "\"count\""},
      {"/metrics/0/more", "1"},
      {"/sla/0/more", "1"},
      {"/sla/0/to", "\"B\""},
      {"/sla/0/except", "[1]"},
      {"/sla/0/p95", "\"2\""},
      {"/sla/0", R"({"name": "l", "from": "A", "p95": "2s"})"},
      {"/sla/0", R"({"name": "l", "target": "1s", "p95": "2s"})"}};
  FileSchema schema(kName);
  for (const auto& [pointer, value] : changes) {
    const auto file = changed(pointer, value);
    EXPECT_NE(fault(file), "") << pointer << " " << value;
    EXPECT_FALSE(schema.accepts(file)) << pointer << " " << value;
  }
  for (const char* field : {"pipeline", "initial", "states"}) {
    auto file = whole();
    file.erase(field);
    EXPECT_NE(fault(file), "") << field;
    EXPECT_FALSE(schema.accepts(file)) << field;
  }
}

using Words = std::set<std::string>;

// What the reader says that it knows at a place: the list in its message about a field that it does not know.
Words known_at(const std::string& pointer) {
  const auto message = fault(changed(pointer + "/zzz", "1"));
  const std::string begin = "unknown field (known here: ";
  const auto at = message.find(begin);
  EXPECT_NE(at, std::string::npos) << pointer << ": " << message;
  if (at == std::string::npos) return {};
  auto list = message.substr(at + begin.size());
  list.pop_back();
  if (const auto groups = list.find("; "); groups != std::string::npos) list = list.substr(groups + 2);
  Words words;
  for (std::size_t next; !list.empty(); list = next == std::string::npos ? "" : list.substr(next + 2)) {
    next = list.find(", ");
    words.insert(list.substr(0, next));
  }
  return words;
}

Words words_of(const json& object) {
  Words words;
  for (const auto& [name, value] : object.at("properties").items()) words.insert(name);
  return words;
}

TEST(PipelineSchema, KnowsTheFieldsThatTheReaderKnowsAndThePageExplainsThem) {  // P1
  const auto schema = FileSchema(kName).json();
  const auto page = text_of(std::filesystem::path(WAYBILL_SOURCE_DIR) / "docs/pipelines.md");
  const std::pair<const char*, const char*> places[] = {{"", ""},
                                                        {"state", "/states/A"},
                                                        {"action", "/states/A/run/0"},
                                                        {"retry", "/states/A/run/0/retry"},
                                                        {"start", "/states/B/start/0"},
                                                        {"transition", "/transitions/0"},
                                                        {"term", "/transitions/0/metadata/b"},
                                                        {"comparison", "/transitions/3/when"},
                                                        {"metric", "/metrics/0"},
                                                        {"level", "/sla/0"}};
  for (const auto& [definition, pointer] : places) {
    const auto words = words_of(*definition ? schema.at("definitions").at(definition) : schema);
    EXPECT_EQ(words, known_at(pointer)) << definition;
    for (const auto& word : words)
      EXPECT_TRUE(page.find("`" + word + "`") != std::string::npos || page.find("\"" + word + "\"") != std::string::npos) << word;
  }
}

}  // namespace
}  // namespace waybill
