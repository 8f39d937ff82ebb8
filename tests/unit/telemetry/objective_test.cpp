// Ends and what is overdue, by organisation and target. O3
#include "telemetry/objective.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "telemetry/metrics.h"

namespace waybill {
namespace {

constexpr OrgId kAcme{2};

class ObjectiveMetrics : public ::testing::Test {
 protected:
  bool shows(const std::string& line) const { return ("\n" + metrics.text()).find("\n" + line + "\n") != std::string::npos; }
  static std::string ends(const std::string& org, const std::string& target, const std::string& end, int count) {
    return "waybill_objective_ends_total{end=\"" + end + "\",organisation=\"" + org + "\",target=\"" + target + "\"} " +
           std::to_string(count);
  }
  static std::string overdue(const std::string& org, const std::string& target, int count) {
    return "waybill_objective_overdue{organisation=\"" + org + "\",target=\"" + target + "\"} " + std::to_string(count);
  }

  Metrics metrics;
  Objective& objective = metrics.objective();
};

TEST_F(ObjectiveMetrics, EndsAreCountedOnceTheirOrganisationHasAName) {
  objective.ended(kAcme, "sms", {2, 1, 0, 0});
  objective.ended(kAcme, "sms", {1, 0, 0, 4});
  objective.ended(kAcme, "push", {1, 0, 0, 0});
  objective.ended(OrgId{3}, "sms", {1, 0, 0, 0});
  EXPECT_EQ(objective.unnamed(), (std::vector<OrgId>{kAcme, OrgId{3}}));
  objective.name(kAcme, "acme");
  EXPECT_TRUE(shows(ends("acme", "sms", "within", 3))) << metrics.text();
  EXPECT_TRUE(shows(ends("acme", "sms", "late", 1)));
  EXPECT_TRUE(shows(ends("acme", "sms", "exhausted", 4)));
  EXPECT_TRUE(shows(ends("acme", "sms", "rejected", 0))) << "what has not happened is 0";
  EXPECT_TRUE(shows(ends("acme", "push", "within", 1)));
  EXPECT_EQ(objective.unnamed(), std::vector<OrgId>{OrgId{3}});
  objective.ended(kAcme, "sms", {0, 0, 1, 0});
  EXPECT_TRUE(shows(ends("acme", "sms", "rejected", 1))) << "at once";
}

TEST_F(ObjectiveMetrics, WhatIsNotOverdueAnyMoreIsZero) {
  objective.overdue(std::vector<Objective::Overdue>{{"acme", "sms", 7}, {"acme", "push", 1}});
  EXPECT_TRUE(shows(overdue("acme", "sms", 7))) << metrics.text();
  EXPECT_TRUE(shows(ends("acme", "sms", "late", 0))) << "before the first of them ends";
  objective.overdue(std::vector<Objective::Overdue>{{"acme", "push", 2}});
  EXPECT_TRUE(shows(overdue("acme", "sms", 0)));
  EXPECT_TRUE(shows(overdue("acme", "push", 2)));
}

TEST_F(ObjectiveMetrics, PairsAreBoundedAndTheRestIsOther) {
  objective.name(kAcme, "acme");
  for (std::size_t i = 0; i < kMaxObjectives + 10; ++i) objective.ended(kAcme, "t" + std::to_string(i), {1, 0, 0, 0});
  EXPECT_TRUE(shows(ends("other", "other", "within", 10)));
  objective.ended(OrgId{9}, "late", {0, 1, 0, 0});
  EXPECT_TRUE(objective.unnamed().empty()) << "it would be told apart from nobody";
  EXPECT_TRUE(shows(ends("other", "other", "late", 1)));
  objective.ended(kAcme, "t0", {1, 0, 0, 0});
  EXPECT_TRUE(shows(ends("acme", "t0", "within", 2))) << "who is known stays known";
  const auto text = metrics.text();
  std::size_t series = 0;
  for (auto at = text.find("waybill_objective_ends_total{"); at != std::string::npos;
       at = text.find("waybill_objective_ends_total{", at + 1))
    ++series;
  EXPECT_EQ(series, (kMaxObjectives + 1) * Objective::kEnds);
}

TEST_F(ObjectiveMetrics, NamesThatNobodyTellsAreWaitedForInBoundedRoom) {
  for (int i = 0; i < static_cast<int>(kMaxObjectives) + 5; ++i) objective.ended(OrgId{i + 10}, "sms", {1, 0, 0, 0});
  EXPECT_EQ(objective.unnamed().size(), kMaxObjectives);
  EXPECT_TRUE(shows(ends("other", "other", "within", 5)));
}

}  // namespace
}  // namespace waybill
