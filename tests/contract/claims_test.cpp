// Who has what: the list of claims that takes the place of an index on the queue.  M17 M18
#include <thread>

#include "base/clock.h"
#include "contract/store_world.h"
#include "support/eventually.h"

namespace waybill::testing {
namespace {

class ClaimsContract : public StoreWorld {
 protected:
  std::string known() {
    return sql.text(
        "SELECT coalesce(string_agg(token || ':' || host_id || ':' || cardinality(deliveries), ' ' ORDER BY token), '') FROM "
        "claims");
  }
  std::int64_t claimed_now() { return sql.number("SELECT count(*) FROM claimed"); }
  std::size_t lost(HostId host) { return rescue->orphaned_claims(0, host, 100)->claims.size(); }
  void forget_lost(HostId host) {
    const auto done = rescue->forget_claims(0, host);
    ASSERT_TRUE(done) << done.error().what;
  }
};

TEST_F(ClaimsContract, AClaimIsKnownWithItCommitsAndForgottenWhenItIsDone) {  // M18
  submit_many(5);
  EXPECT_TRUE(claim(route("sms.other"), 3, {1}, {7}).rows.empty());
  EXPECT_EQ(known(), "") << "what took nothing is no claim";
  claim(route(), 3, {2}, {7});
  EXPECT_EQ(known(), "2:7:3");
  EXPECT_EQ(claimed_now(), 3);
  EXPECT_EQ(
      sql.number("SELECT micros(c.lease_until) - micros(r.lease_until) FROM claims c, ready r WHERE status = 'claimed' LIMIT 1"),
      0);
  const auto next = queue->claim(0, {7}, {3}, Millis(60'000), std::vector<RouteShare>{{route(), 9, {}, {}}}, {{2}}, kAnyBytes);
  ASSERT_TRUE(next) << next.error().what;
  EXPECT_EQ(known(), "3:7:2") << "the next claim forgets those that are done";
  ASSERT_TRUE(queue->forget(0, {{3}, {99}}));
  EXPECT_EQ(known(), "");
}

TEST_F(ClaimsContract, WhatIsSettledIsNotClaimedAnyMore) {  // M18
  submit_many(3);
  const auto rows = claim(route(), 3, {1}, {7}).rows;
  settled({ending(rows[0], {1}, Status::accepted), retrying(rows[1], {1}, rows[1].due)});
  EXPECT_EQ(claimed_now(), 1);
  claim(route(), 1, {2}, {8});  // the one that is due again
  EXPECT_EQ(lost(HostId{7}), 1u);
  EXPECT_EQ(lost(HostId{8}), 1u);
}

TEST_F(ClaimsContract, GivingBackUndoesOneClaimWhole) {  // M17 M18
  submit_many(4);
  claim(route(), 2, {1}, {7});
  claim(route(), 2, {2}, {7});
  ASSERT_TRUE(queue->give_back(0, {7}, {1}));
  EXPECT_EQ(known(), "1:7:0 2:7:2") << "its tombstone stays: the claim's statement may still be on its way";
  EXPECT_EQ(sql.text("SELECT string_agg(status || ':' || coalesce(claim_token, 0), ' ' ORDER BY status, claim_token) FROM ready"),
            "due:0 due:0 claimed:2 claimed:2");
  ASSERT_TRUE(queue->give_back(0, {7}, {1})) << "again, as when the first answer was lost";
  EXPECT_EQ(claimed_now(), 2);
}

TEST_F(ClaimsContract, GivingBackLeavesAloneWhatALaterClaimHas) {  // M17 M18
  submit_many(2);
  const auto first = claim(route(), 2, {1}, {7}).rows;
  settled({retrying(first[0], {1}, first[0].due)});
  ASSERT_EQ(claim(route(), 2, {2}, {8}).rows.size(), 1u) << "the one that is due again";
  ASSERT_TRUE(queue->give_back(0, {7}, {1}));
  EXPECT_EQ(sql.text("SELECT string_agg(status || ':' || coalesce(claim_token, 0), ' ' ORDER BY delivery_id) FROM ready"),
            "claimed:2 due:0")
      << "host 8 is sending it";
}

// The session of a claim can be lost while its statement goes on in the server.
class LateClaims : public ClaimsContract {
 protected:
  // Every claim that took something waits in `when` its row in `claims` is written, until unlock().
  void hold_claims(const std::string& when) {
    sql.execute(
        "CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF cardinality(NEW.deliveries) > 0 THEN"
        " PERFORM pg_advisory_xact_lock(4711); END IF; RETURN NEW; END $$");
    sql.execute("CREATE TRIGGER held " + when + " INSERT ON claims FOR EACH ROW EXECUTE FUNCTION wait_for_test()");
    sql.execute("SELECT pg_advisory_lock(4711)");
  }
  void unlock() { sql.execute("SELECT pg_advisory_unlock(4711)"); }
  std::int64_t waiting_statements() {
    return sql.number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'");
  }
  std::string ready_now() {
    return sql.text("SELECT string_agg(status || ':' || coalesce(claim_token, 0), ' ' ORDER BY delivery_id) FROM ready");
  }
};

TEST_F(LateClaims, AClaimThatWasGivenBackBeforeItWroteItsRowNeverTakesPlace) {  // E3
  submit_many(2);
  const auto of = route();
  hold_claims("BEFORE");
  Result<ClaimResult> late;
  std::jthread claiming([&] {
    late = make_queue_store(address)->claim(0, {7}, {1}, Millis(60'000), std::vector<RouteShare>{{of, 9, {}, {}}}, {}, kAnyBytes);
  });
  ASSERT_TRUE(eventually([&] { return waiting_statements() == 1; }));
  ASSERT_TRUE(queue->give_back(0, {7}, {1}));
  unlock();
  claiming.join();
  EXPECT_FALSE(late) << "it would have been nobody's";
  EXPECT_EQ(ready_now(), "due:0 due:0");
  EXPECT_EQ(claim(of, 9, {2}, {7}).rows.size(), 2u);
}

TEST_F(LateClaims, GivingBackWaitsForAClaimThatIsAboutToCommit) {  // E3
  submit_many(2);
  const auto of = route();
  hold_claims("AFTER");
  std::jthread claiming([&] {
    const auto late =
        make_queue_store(address)->claim(0, {7}, {1}, Millis(60'000), std::vector<RouteShare>{{of, 9, {}, {}}}, {}, kAnyBytes);
    EXPECT_TRUE(late);
  });
  ASSERT_TRUE(eventually([&] { return waiting_statements() == 1; }));
  std::jthread giving_back([&] { EXPECT_TRUE(make_queue_store(address)->give_back(0, {7}, {1})); });
  ASSERT_TRUE(eventually([&] { return waiting_statements() == 2; }));
  unlock();
  claiming.join();
  giving_back.join();
  EXPECT_EQ(ready_now(), "due:0 due:0");
}

TEST_F(LateClaims, AnIntakesClaimThatWasGivenBackStoresNothing) {  // E3
  const std::vector<NewSubmission> items{item("a")};
  hold_claims("BEFORE");
  std::jthread submitting([&] {
    EXPECT_FALSE(make_intake_store(address)->submit(0, items, InsertClaim{{7}, {1}, Millis(60'000)}));
  });
  ASSERT_TRUE(eventually([&] { return waiting_statements() == 1; }));
  ASSERT_TRUE(queue->give_back(0, {7}, {1}));
  unlock();
  submitting.join();
  EXPECT_EQ(sql.number("SELECT count(*) FROM submissions"), 0) << "it was not acknowledged, and is handed in again";
  EXPECT_TRUE(intake->submit(0, items, InsertClaim{{7}, {2}, Millis(60'000)}));
}

TEST_F(ClaimsContract, ALostClaimStaysKnownUntilNoneOfItIsClaimed) {  // M17 M18
  submit_many(2);
  const auto rows = claim(route(), 2, {1}, {12345}).rows;  // a host that is not there
  settled({ending(rows[0], {1}, Status::accepted)});
  forget_lost({12345});
  EXPECT_EQ(known(), "1:12345:2");
  EXPECT_EQ(lost({12345}), 1u);
  settled({retrying(rows[1], {1}, rows[1].due)});
  forget_lost({12345});
  EXPECT_EQ(known(), "");
}

TEST_F(ClaimsContract, AClaimThatIsMissingFromTheListIsFound) {  // M17 M18 E7 E11
  submit_many(5);
  claim(route(), 2, {1}, {7});
  claim(route(), 2, {2}, {8});
  EXPECT_EQ(*maintenance->find_unregistered_claims(), 0u);
  sql.execute("DELETE FROM claims WHERE token = 2");
  EXPECT_EQ(*maintenance->find_unregistered_claims(), 2u) << "whatever the clock says of their leases";
  EXPECT_EQ(known(), "1:7:2 2:8:2");
  EXPECT_EQ(lost({8}), 2u);
  EXPECT_EQ(*maintenance->find_unregistered_claims(), 0u) << "found once";
  // After a failover its host deletes what it was through with once more, and may still do so now.
  ASSERT_TRUE(queue->forget(0, {{1}, {2}}));
  EXPECT_EQ(known(), "2:8:2") << "it is the rescuer's";
  ASSERT_TRUE(queue->claim(0, {7}, {3}, Millis(60'000), std::vector<RouteShare>{{route(), 9, {}, {}}}, {{2}}, kAnyBytes));
  EXPECT_EQ(known(), "2:8:2 3:7:1");
}

// A change of a column that an index has, or goes by, would write every index of the row anew with each claim.
TEST_F(ClaimsContract, NoIndexHasWhatAClaimChanges) {
  EXPECT_EQ(sql.text("SELECT coalesce(string_agg(DISTINCT d.refobjsubid::text || ':' || a.attname, ' '), 'none')"
                     " FROM pg_index i JOIN pg_depend d ON d.objid = i.indexrelid AND d.refobjid = i.indrelid"
                     " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = d.refobjsubid"
                     " WHERE i.indrelid = 'ready'::regclass AND a.attname IN"
                     " ('status', 'claim_token', 'claimed_by', 'claimed_at', 'lease_until')"),
            "none");
}

}  // namespace
}  // namespace waybill::testing
