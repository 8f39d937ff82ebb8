// Who has what: the list of claims that takes the place of an index on the queue.  M17 M18
#include "contract/store_world.h"
#include "core/clock.h"

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
  std::size_t lost(std::optional<HostId> host = {}) { return upkeep->lost_claims(0, host, 100)->claims.size(); }
  void forget_lost() {
    const auto done = upkeep->forget_lost_claims(0);
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
  const auto next = queue->claim(0, {7}, {3}, Millis(60'000), std::vector<RouteShare>{{route(), 9, {}, {}}}, {{2}});
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
  EXPECT_EQ(known(), "2:7:2");
  EXPECT_EQ(sql.text("SELECT string_agg(status || ':' || coalesce(claim_token, 0), ' ' ORDER BY status, claim_token) FROM ready"),
            "due:0 due:0 claimed:2 claimed:2");
  ASSERT_TRUE(queue->give_back(0, {7}, {1})) << "again, as when the first answer was lost";
  EXPECT_EQ(claimed_now(), 2);
}

TEST_F(ClaimsContract, ALostClaimStaysKnownUntilNoneOfItIsClaimed) {  // M17 M18
  submit_many(2);
  const auto rows = claim(route(), 2, {1}, {12345}).rows;  // a host that is not there
  settled({ending(rows[0], {1}, Status::accepted)});
  forget_lost();
  EXPECT_EQ(known(), "1:12345:2");
  EXPECT_EQ(lost(), 1u);
  settled({retrying(rows[1], {1}, rows[1].due)});
  forget_lost();
  EXPECT_EQ(known(), "");
}

TEST_F(ClaimsContract, AClaimOfALivingHostWithinItsLeaseIsNotForgotten) {  // M18
  Presence presence(address, "box:1");
  submit_many(1);
  claim(route(), 1, {1}, *presence.keep());
  forget_lost();
  EXPECT_EQ(claimed_now(), 1);
}

// E11: its host was through with it and forgot it; then the database forgot how it ended
TEST_F(ClaimsContract, AClaimThatIsMissingFromTheListIsTakenBackAtOnce) {  // M17 M18
  submit_many(5);
  claim(route(), 2, {1}, {7});
  claim(route(), 2, {2}, {8});
  sql.execute("DELETE FROM claims WHERE token = 2");
  EXPECT_EQ(*upkeep->find_lost_claims(), 2u);
  EXPECT_EQ(known(), "1:7:2 2:8:2");
  EXPECT_EQ(sql.number("SELECT count(*) FROM claimed WHERE claim_token = 2 AND claim_ends < now()"), 2);
  EXPECT_EQ(*upkeep->find_lost_claims(), 0u) << "found once";
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
