// How long submissions took between two points of their pipeline.  P6 T25
#include <gtest/gtest.h>

#include "contract/pipeline_rows.h"
#include "store/pg_stores.h"
#include "store/pipelines/pipeline_store.h"

namespace waybill::testing {
namespace {

class ServiceLevels : public PipelineRows {
 protected:
  // Rows of a submission that entered `sending` so long ago, and left it after `took`; empty: it is still there.
  void sent(const std::string& ref, const std::string& ago, const std::string& took) {
    const auto id = std::to_string(add(ref, ref));
    sql.execute("UPDATE pipeline_steps SET entered_at = now() - interval '" + ago +
                "', left_at = " + (took.empty() ? "NULL" : "now() - interval '" + ago + "' + interval '" + took + "'") +
                " WHERE step = 1 AND submission_id = " + id);
  }
  LevelMeasure measure() {
    const auto found = make_pipeline_store(address, 1)->measure(kDefaultOrg, "mail", level, std::chrono::hours(24), 1000);
    EXPECT_TRUE(found) << found.error().what;
    return found.value_or(LevelMeasure{});
  }

  ServiceLevel level{.name = "Sending", .from = "sending", .target = Seconds(60), .p95 = Seconds(60)};
};

// T25
TEST_F(ServiceLevels, WhatIsOnItsWayForLongerThanTheTargetHasMissedIt) {
  for (int i = 0; i < 5; ++i) sent("in-time-" + std::to_string(i), "1 hour", "10 seconds");
  for (int i = 0; i < 15; ++i) sent("blocked-" + std::to_string(i), "1 hour", "");
  sent("young", "5 seconds", "");
  const auto found = measure();
  EXPECT_EQ(found.through, 20) << "the young one may still be in time";
  EXPECT_EQ(found.within, 5);
  EXPECT_GE(found.p95_ms, 3'600'000);
  EXPECT_EQ(found.open, 16);
}

// P6
TEST_F(ServiceLevels, WhatIsThroughCountsByTheTimeThatItTook) {
  sent("quick", "1 hour", "10 seconds");
  sent("slow", "1 hour", "61 seconds");
  const auto found = measure();
  EXPECT_EQ(found.through, 2);
  EXPECT_EQ(found.within, 1);
  EXPECT_EQ(found.open, 0);
}

}  // namespace
}  // namespace waybill::testing
