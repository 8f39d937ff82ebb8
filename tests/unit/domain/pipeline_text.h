// Small pipelines as text, for tests that damage them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "domain/pipeline_reader.h"

namespace waybill::testing {

// A stage that is judged by its score, a person's decision, two ends. Lines are counted from 1.
inline const std::string kJudged = R"({
  "pipeline": "judged",
  "initial": "JUDGING",
  "lists": { "trusted": ["acme", "globex"] },
  "states": {
    "JUDGING": { "run": [{ "target": "judge" }] },
    "REVIEW": {},
    "GOOD": { "terminal": true },
    "BAD": { "terminal": true }
  },
  "transitions": [
    { "from": "JUDGING", "to": "GOOD", "trigger": "pass", "actor": "worker", "when": { "at": "/result/score", "atLeast": 80 } },
    { "from": "JUDGING", "to": "REVIEW", "trigger": "fail", "actor": "worker", "when": { "at": "/result/score", "lessThan": 80 } },
    { "from": "REVIEW", "to": "GOOD", "trigger": "approve", "actor": "admin" },
    { "from": "REVIEW", "to": "BAD", "trigger": "reject", "actor": "admin" }
  ]
}
)";

// The text with its first `what` replaced, which must be there.
inline std::string changed(std::string text, const std::string& what, const std::string& instead) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), instead);
}

// A problem a line; "" if the text is a pipeline.
inline std::string problems_of(const std::string& text) {
  const auto pipeline = read_pipeline(text, "p.json");
  std::string lines;
  if (!pipeline)
    for (const auto& problem : pipeline.error()) lines += (lines.empty() ? "" : "\n") + to_string(problem);
  return lines;
}

// The problems of kJudged with `instead` where `what` stands.
inline std::string problems_with(const std::string& what, const std::string& instead) {
  return problems_of(changed(kJudged, what, instead));
}

inline Pipeline pipeline_of(const std::string& text) {
  auto pipeline = read_pipeline(text, "p.json");
  EXPECT_TRUE(pipeline) << problems_of(text);
  return pipeline ? std::move(*pipeline) : Pipeline{};
}

}  // namespace waybill::testing
