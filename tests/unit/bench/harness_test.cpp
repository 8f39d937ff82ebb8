// What the scripts print, and what --against takes.
#include "bench/harness.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "bench/rivals.h"

namespace waybill::bench {
namespace {

TEST(AnAnswerOfTheHarness, IsOneRunWithItsUnit) {
  const auto answer = parse_answer(R"({"name":"limit","test":"e2e","unit":"deliveries/s","median":7,"runs":[7]})"
                                   "\n");
  EXPECT_EQ(answer.unit, "deliveries/s");
  EXPECT_EQ(answer.value, 7);
  EXPECT_EQ(answer.p99, std::nullopt);
}

TEST(AnAnswerOfTheHarness, MayHaveATail) { EXPECT_EQ(parse_answer(R"({"unit":"ms p50","runs":[3.5],"p99":[9]})").p99, 9); }

TEST(AnAnswerOfTheHarness, IsNothingElse) {
  for (const auto* text :
       {"", "no figure", "[]", "{}", R"({"runs":[7]})", R"({"unit":"x","runs":[]})", R"({"unit":"x","runs":[1,2]})",
        R"({"unit":"x","runs":["7"]})", R"({"unit":"x","runs":[0]})", R"({"unit":7,"runs":[7]})"})
    EXPECT_THROW(parse_answer(text), std::runtime_error) << text;
}

TEST(WhomToMeasure, IsSaidInThreeWords) {
  const auto asked = parse_asked({"peers", "limits"});
  EXPECT_TRUE(asked.peers && asked.limits && !asked.bullmq);
  EXPECT_TRUE(parse_asked({"bullmq"}).bullmq);
  EXPECT_FALSE(parse_asked({}).any());
  EXPECT_THROW(parse_asked({"pears"}), std::runtime_error);
}

}  // namespace
}  // namespace waybill::bench
