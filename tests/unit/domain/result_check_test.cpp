// Whether a stage's answer is a result that its pipeline can go on with.  P2
#include "domain/result_check.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

const StageTerms kStage{.pipeline = "p", .state = "S", .needed = {{"/score", "number"}, {"/ok", "boolean"}, {"/by", "string"}}};

std::string fault(const std::string& result, const StageTerms& stage = kStage) {
  return result_fault(Outcome{.verdict = Verdict::accepted, .result = result}, stage);
}

TEST(ResultCheck, TakesAResultThatHasWhatIsCompared) {  // P2
  EXPECT_EQ(fault(R"({"score":92,"ok":false,"by":"x","more":[1]})"), "");
  EXPECT_EQ(fault(R"({"score":0.5,"ok":true,"by":""})"), "");
}

TEST(ResultCheck, NamesWhatIsMissingOrOfAnotherType) {  // P2
  EXPECT_EQ(fault(R"({"ok":true,"by":"x"})"), "the result has no number at /score");
  EXPECT_EQ(fault(R"({"score":"92","ok":true,"by":"x"})"), "the result has no number at /score");
  EXPECT_EQ(fault(R"({"score":92,"ok":"true","by":"x"})"), "the result has no boolean at /ok");
  EXPECT_EQ(fault(R"({"score":92,"ok":true,"by":null})"), "the result has no string at /by");
  for (const char* result : {"", "[]", "7", "null", "no json", "{\"score\":{}}"})
    EXPECT_EQ(fault(result), "the result has no number at /score") << result;
}

TEST(ResultCheck, TakesAnythingWhereNothingIsCompared) {  // P2
  for (const char* result : {"", "[]", "7", "{}"}) EXPECT_EQ(fault(result, {.pipeline = "p", .state = "S"}), "") << result;
}

TEST(ResultCheck, LooksAtAcceptedOutcomesOnly) {  // P2
  for (const auto verdict : {Verdict::rejected, Verdict::transient, Verdict::deferred})
    EXPECT_EQ(result_fault(Outcome{.verdict = verdict}, kStage), "");
}

TEST(ResultCheck, LooksAtTheWholeResultWhereThatIsCompared) {  // P2
  const StageTerms stage{.pipeline = "p", .state = "S", .needed = {{"", "string"}}};
  EXPECT_EQ(fault("\"fine\"", stage), "");
  EXPECT_EQ(fault("{}", stage), "the result has no string at ");
}

}  // namespace
}  // namespace waybill
