// The search for claims that an asynchronous failover lost: how often, and what comes with it.  E11
#include <gtest/gtest.h>

#include "maintenance/periodic_tasks.h"
#include "support/call_builders.h"
#include "unit/maintenance/no_maintenance.h"

namespace waybill {
namespace {

TEST(SearchingForLostClaims, AHostIsThroughWithItsLastClaimsAgainForAMinuteAfterANewSession) {  // E11
  testing::NoMaintenance store;
  testing::ManualClock clock;
  testing::KeptLog log;
  std::uint64_t sessions = 1;
  int found = 0, again = 0;
  const auto task = unregistered_claims(
      store, [&] { ++found; }, [&] { ++again; }, [&] { return sessions; }, clock, log);
  EXPECT_FALSE(task.is_wanted());
  ASSERT_TRUE(task.run());
  EXPECT_EQ(again, 0) << "the search of every five minutes";

  sessions = 2;
  int looks = 0;
  for (Seconds past{0}; past < Seconds(120); past += Seconds(1)) {
    if (task.is_wanted()) {
      ASSERT_TRUE(task.run());
      ++looks;
    }
    clock.pass(Seconds(1));
  }
  EXPECT_EQ(looks, 30) << "every other second";
  EXPECT_EQ(again, looks);
  ASSERT_TRUE(task.run());
  EXPECT_EQ(again, looks) << "the minute is over";
  EXPECT_EQ(found, 0) << "nothing was lost";
}

}  // namespace
}  // namespace waybill
