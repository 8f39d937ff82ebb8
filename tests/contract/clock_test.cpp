// The database's clock, as a claim brings it along: read when whatever the claim waited for is over.  E6
#include <future>

#include "contract/store_world.h"
#include "support/eventually.h"

namespace waybill::testing {
namespace {

class ClockContract : public StoreWorld {
 protected:
  // Carries out `work` while nobody can get at the table, and tells the time at which it was let go on.
  template <class Work>
  Timestamp behind_a_lock(const std::string& table, Work work) {
    SqlClient blocker(url);
    blocker.execute("BEGIN");
    blocker.execute("LOCK TABLE waybill." + table + " IN ACCESS EXCLUSIVE MODE");
    auto done = std::async(std::launch::async, work);
    EXPECT_TRUE(eventually([&] { return sql.number("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0; }));
    const Timestamp unlock{blocker.number("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")};
    blocker.execute("ROLLBACK");
    done.get();
    return unlock;
  }
};

TEST_F(ClockContract, AClaimTellsTheTimeAfterWhatItWaitedFor) {  // E6
  submit_many(2);
  claim(route(), 1, {1});  // its statement is prepared
  ClaimResult claimed;
  const auto unlock = behind_a_lock("target_outages", [&] { claimed = claim(route(), 1, {2}); });
  ASSERT_EQ(claimed.rows.size(), 1u);
  EXPECT_GE(claimed.now, unlock);
}

TEST_F(ClockContract, AFirstClaimTellsTheTimeAfterWhatItWaitedFor) {  // E6
  const InsertClaim claim{{1}, {1}, Millis(60'000)};
  ASSERT_TRUE(intake->submit(0, std::vector<NewSubmission>{item("a")}, claim));
  const std::vector<NewSubmission> second{item("b")};
  Result<std::vector<SubmitResult>> answers;
  const auto unlock = behind_a_lock("target_outages", [&] {
    answers = intake->submit(0, second, InsertClaim{{1}, {2}, Millis(60'000)});
  });
  ASSERT_TRUE(answers) << answers.error().what;
  EXPECT_TRUE(answers->at(0).claimed);
  EXPECT_GE(answers->at(0).stored, unlock);
  EXPECT_EQ(answers->at(0).view.created.micros, sql.number("SELECT micros(created_at) FROM submissions WHERE client_ref = 'b'"));
}

}  // namespace
}  // namespace waybill::testing
