// Which ends the service level objective counts, and as what. O3
#include "settle/objective_end.h"

#include <gtest/gtest.h>

#include "telemetry/metrics.h"

namespace waybill {
namespace {

constexpr Millis kPromised{1'000};
using End = Objective::End;

TEST(ObjectiveEnd, WhatIsAcceptedInTimeIsWithinAndTheRestIsTold) {
  const Contract contract{.target = "sms"};
  EXPECT_EQ(objective_end(contract, Status::accepted, Micros(1'000'000), kPromised), End::within);
  EXPECT_EQ(objective_end(contract, Status::accepted, Micros(1'000'001), kPromised), End::late);
  EXPECT_EQ(objective_end(contract, Status::rejected, Micros(1), kPromised), End::rejected);
  EXPECT_EQ(objective_end(contract, Status::exhausted, Micros(1), kPromised), End::exhausted);
  for (const auto status : {Status::due, Status::deferred, Status::cancelled})
    EXPECT_FALSE(objective_end(contract, status, Micros(1), kPromised));
}

TEST(ObjectiveEnd, ChannelsAndStagesHaveNone) {
  EXPECT_FALSE(objective_end({.target = "sms", .channel = "c"}, Status::accepted, Micros(1), kPromised));
  EXPECT_FALSE(objective_end({.target = "sms", .stage = StageTerms{"p", "s"}}, Status::accepted, Micros(1), kPromised));
}

TEST(ObjectiveEnd, EndsOfSeveralContractsAreKeptApart) {
  Metrics metrics;
  metrics.objective().name(OrgId{1}, "default");
  const Contract sms{.target = "sms"}, form{.target = "one", .form_id = "contact"};
  ObjectiveRun run(metrics.objective(), kPromised);
  for (const auto* contract : {&sms, &sms, &form, &sms}) run.add(OrgId{1}, *contract, Status::accepted, Micros(5));
  run.flush();
  run.flush();
  const auto text = metrics.text();
  EXPECT_NE(text.find(R"(waybill_objective_ends_total{end="within",organisation="default",target="sms"} 3)"), std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(waybill_objective_ends_total{end="within",organisation="default",target="form:contact"} 1)"),
            std::string::npos);
}

}  // namespace
}  // namespace waybill
