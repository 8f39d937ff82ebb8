// What dead hosts left behind is taken back, and nothing that a living host holds.  M17 M18
#include "contract/hosts_world.h"
#include "maintenance/liveness.h"
#include "maintenance/rescuer.h"
#include "support/call_builders.h"

namespace waybill::testing {
namespace {

constexpr Millis kLease{60'000};

class RescueContract : public HostsWorld {
 protected:
  std::vector<UnchangedClaim> all_claims(Micros unchanged = kLease) {
    std::vector<UnchangedClaim> all;
    const auto seen = rescue->claims();
    EXPECT_TRUE(seen) << seen.error().what;
    for (const auto& claim : *seen) all.push_back({claim, unchanged});
    return all;
  }
  std::size_t lost(const std::vector<UnchangedClaim>& claims) {
    const auto lost = rescue->orphaned_claims(0, claims, 100);
    EXPECT_TRUE(lost) << lost.error().what;
    return lost->claims.size();
  }
};

TEST_F(RescueContract, TheClaimsOfAHostAreFoundByItsId) {  // M17 M18
  submit_many(5);
  claim(route(), 2, {11}, {7});
  const auto mine = claim(route(), 1, {12}, {8});
  sql.execute(
      "UPDATE ready SET attempt_count = 5, uncounted = 2, lease_lost = 1, maybe_sent = true, action_order = 4, queued = false "
      "WHERE claimed_by = 8");
  const auto lost = rescue->orphaned_claims(0, HostId{8}, 100);
  ASSERT_TRUE(lost) << lost.error().what;
  ASSERT_EQ(lost->claims.size(), 1u);
  const auto& one = lost->claims[0];
  EXPECT_EQ(one.delivery, mine.rows[0].delivery);
  EXPECT_EQ(one.token, ClaimToken{12});
  EXPECT_EQ(one.org, kDefaultOrg);
  EXPECT_EQ(one.route, route());
  EXPECT_EQ(one.host, HostId{8});
  EXPECT_LE(one.claimed_at, mine.now);
  EXPECT_EQ(one.created, mine.rows[0].created);
  EXPECT_EQ(one.kind, "intent");
  EXPECT_EQ(one.client_ref, "ref-2");
  EXPECT_EQ(one.action_order, 4);
  EXPECT_EQ(one.history, (History{.attempt_count = 5, .uncounted = 2, .lease_lost = 1, .maybe_sent = true}));
  EXPECT_GE(lost->now, one.claimed_at);
  EXPECT_EQ(rescue->orphaned_claims(0, HostId{7}, 100)->claims.size(), 2u);
  EXPECT_EQ(rescue->orphaned_claims(0, HostId{7}, 1)->claims.size(), 1u) << "at most so many";
  EXPECT_TRUE(rescue->orphaned_claims(1, HostId{7}, 100)->claims.empty()) << "of that shard only";
}

TEST_F(RescueContract, AClaimIsSeenWithItsLeaseAndWithoutItsHost) {  // M18
  HostLiveness liveness(address, "box:1");
  const HostId alive = *liveness.keep();
  submit_many(3);
  claim(route(), 1, {1}, alive);
  claim(route(), 2, {2}, {12345});  // committed after that host was rescued
  const auto seen = all_claims();
  ASSERT_EQ(seen.size(), 2u);
  const auto& mine = seen[seen[0].claim.token == ClaimToken{1} ? 0 : 1].claim;
  const auto& late = seen[seen[0].claim.token == ClaimToken{1} ? 1 : 0].claim;
  EXPECT_EQ(mine.host, alive);
  EXPECT_FALSE(mine.orphaned);
  EXPECT_TRUE(late.orphaned);
  ASSERT_TRUE(liveness.renew(0, std::vector<ClaimToken>{{1}}, Millis(90'000)));
  for (const auto& again : all_claims()) EXPECT_NE(again.claim.lease_until, mine.lease_until) << "a renewal shows";
}

TEST_F(RescueContract, AClaimIsLostOnlyAsItWasSeenAndAfterItsOwnLease) {  // E7
  HostLiveness liveness(address, "box:1");
  const HostId alive = *liveness.keep();
  submit_many(3);
  claim(route(), 3, {1}, alive);  // for a minute
  EXPECT_EQ(lost(all_claims(Seconds(59))), 0u) << "another host's shorter lease is no reason";
  EXPECT_EQ(lost(all_claims(Seconds(60))), 3u);
  const auto seen = all_claims(Seconds(60));
  ASSERT_TRUE(liveness.renew(0, std::vector<ClaimToken>{{1}}, kLease));
  EXPECT_EQ(lost(seen), 0u) << "renewed since";
  ASSERT_TRUE(rescue->forget_claims(0, all_claims()));
  EXPECT_EQ(all_claims().size(), 1u) << "something of it is still claimed";
  ASSERT_TRUE(rescue->forget_claims(0, alive));
  EXPECT_EQ(all_claims().size(), 1u);
  std::vector<Settlement> ends;
  sql.execute("UPDATE ready SET status = 'due', claim_token = NULL");
  ASSERT_TRUE(rescue->forget_claims(0, seen));
  EXPECT_EQ(all_claims().size(), 1u) << "not the one that was seen";
  ASSERT_TRUE(rescue->forget_claims(0, all_claims()));
  EXPECT_TRUE(all_claims().empty());
}

// ---- the stories of the rescuer itself, on a clock that is turned by hand ----

// Counts what is asked.
class CountedStore final : public RescueStore {
 public:
  explicit CountedStore(RescueStore& store) : store_(store) {}
  Result<std::vector<HostObservation>> hosts(HostId self) override { return ++looks, store_.hosts(self); }
  Result<bool> take_over(const HostObservation& host) override { return ++others, store_.take_over(host); }
  Result<void> unregister(HostId host) override { return ++others, store_.unregister(host); }
  Result<void> unlock(HostId host) override { return ++others, store_.unlock(host); }
  Result<std::vector<ClaimObservation>> claims() override { return ++claim_looks, store_.claims(); }
  Result<OrphanedClaims> orphaned_claims(Shard shard, HostId host, std::size_t most) override {
    return ++others, store_.orphaned_claims(shard, host, most);
  }
  Result<OrphanedClaims> orphaned_claims(Shard shard, std::span<const UnchangedClaim> claims, std::size_t most) override {
    return ++others, store_.orphaned_claims(shard, claims, most);
  }
  Result<void> forget_claims(Shard shard, HostId host) override { return ++others, store_.forget_claims(shard, host); }
  Result<void> forget_claims(Shard shard, std::span<const UnchangedClaim> claims) override {
    return ++others, store_.forget_claims(shard, claims);
  }
  std::atomic<int> looks{0}, claim_looks{0}, others{0};

 private:
  RescueStore& store_;
};

class Rescue : public HostsWorld {
 protected:
  void start() {
    self = *liveness.keep();
    running = std::make_unique<Rescuer>(
        counted, *queue, *settle, clock,
        MaintenanceSettings{.shards = 1, .actor = "box:1", .takeover = Millis(5), .lease = kLease},
        [this] { return std::optional(self); }, [this] { ++woken; }, log, metrics);
    running->start();
  }
  void look_a_few_times() {
    const int before = counted.looks;
    ASSERT_TRUE(eventually([&] { return counted.looks > before + 5; }));
  }
  // The next look at the claims, a look's time later.
  void look_at_claims() {
    look_a_few_times();  // so that none is under way, whose next one would be a look's time later still
    const int before = counted.claim_looks;
    clock.pass(kLease / 8);
    ASSERT_TRUE(eventually([&] { return counted.claim_looks > before; }));
    look_a_few_times();
  }
  bool metrics_say(const std::string& line) { return metrics.text().find(line) != std::string::npos; }
  std::int64_t claimed() { return sql.number("SELECT count(*) FROM ready WHERE status = 'claimed'"); }

  ManualClock clock;
  KeptLog log;
  Metrics metrics;
  CountedStore counted{*rescue};
  HostLiveness liveness{address, "box:1"};
  HostId self;
  std::atomic<int> woken{0};
  std::unique_ptr<Rescuer> running;
};

TEST_F(Rescue, TakesBackWhatADeadHostHeld) {  // M17 M18
  HostLiveness other(address, "box:2");
  const HostId doomed = *other.keep();
  submit({item("retried", "{}", "sms.primary")});
  submit({item("once", "{}", "sms.once")});
  auto once_contract = contract_of("sms.once", Policy::one_shot);
  const auto once_route = intake->route(kDefaultOrg, once_contract);
  sql.execute("UPDATE ready SET route_id = " + std::to_string(once_route->value) +
              " WHERE submission_id = (SELECT id FROM submissions WHERE client_ref = 'once')");
  claim(route(), 1, {1}, doomed);
  claim(*once_route, 1, {2}, doomed);
  start();
  look_a_few_times();
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE status = 'claimed'"), 2) << "its host lives";
  kill(doomed);
  look_a_few_times();
  EXPECT_EQ(log.count("host.died"), 0u) << "one look, and more of them in the same moment, only observe";  // E7
  EXPECT_EQ(sql.number("SELECT count(*)" + holders_of(doomed)), 0);
  clock.pass(Millis(500));
  ASSERT_TRUE(eventually([&] { return log.count("host.died") == 1; }));
  EXPECT_EQ(sql.text("SELECT status || ' ' || attempt_count || ' ' || lease_lost || ' ' || maybe_sent FROM ready"),
            "due 1 0 true")
      << "nobody is blamed for a death without a trail";  // E1
  EXPECT_EQ(sql.text("SELECT state || ' ' || reason FROM submission_states WHERE client_ref = 'once'"), "exhausted one_shot");
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts WHERE outcome = 'unknown' AND finished_at IS NULL"), 2);
  EXPECT_EQ(sql.number("SELECT count(*) FROM hosts"), 1);
  EXPECT_TRUE(metrics_say("submission_claims_lost_total{why=\"host_died\"} 2"));
  EXPECT_GT(woken, 0);
}

// Its session alone was lost: it comes back as itself, and nobody has taken anything.
TEST_F(Rescue, AHostThatIsBackBeforeTheSecondLookIsLeftAlone) {  // E7
  HostLiveness other(address, "box:2");
  const HostId flapping = *other.keep();
  submit({item("kept")});
  claim(route(), 1, {1}, flapping);
  start();
  for (int i = 0; i < 10; ++i) {
    kill(flapping);
    look_a_few_times();
    ASSERT_EQ(kept(other), flapping);
    clock.pass(Millis(500));
    look_a_few_times();
  }
  EXPECT_EQ(log.count("host.died"), 0u);
  EXPECT_EQ(claimed(), 1);
}

// `seconds` is what the database's clock was set forward by since the claim; the claim's times are moved instead.
TEST_F(Rescue, AStepOfTheDatabasesClockTakesNothingBackFromALivingHost) {  // E7
  HostLiveness other(address, "box:2");
  const HostId alive = *other.keep();
  submit_many(4);
  std::int64_t token = 0;
  for (const char* step : {"5 minutes", "1 day", "10 years", "-10 years"}) {
    claim(route(), 1, {++token}, alive);
    const std::string moved = " SET lease_until = lease_until - interval '" + std::string(step) + "'";
    sql.execute("UPDATE claims" + moved + " WHERE token = " + std::to_string(token));
    sql.execute("UPDATE ready" + moved + ", claimed_at = claimed_at - interval '" + step +
                "' WHERE claim_token = " + std::to_string(token));
  }
  start();
  for (int i = 0; i < 7; ++i) look_at_claims();
  EXPECT_EQ(claimed(), 4);
  for (int i = 0; i < 3; ++i) look_at_claims();
  EXPECT_EQ(claimed(), 0) << "unchanged for a whole lease of the rescuer's own clock, whatever the database's says";
  EXPECT_TRUE(metrics_say("submission_claims_lost_total{why=\"lease_expired\"} 4"));
}

TEST_F(Rescue, WhatALivingHostRenewsIsItsOwnForAsLongAsItHoldsIt) {  // E7
  HostLiveness other(address, "box:2");
  const HostId alive = *other.keep();
  submit_many(3);
  const auto rows = claim(route(), 2, {1}, alive).rows;
  claim(route(), 1, {2}, alive);  // nobody renews it: its host forgot it
  start();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(other.renew(0, std::vector<ClaimToken>{{1}}, kLease + Millis(i)));
    look_at_claims();
  }
  EXPECT_EQ(sql.text("SELECT string_agg(DISTINCT claim_token::text, ' ') FROM ready WHERE status = 'claimed'"), "1");
  EXPECT_EQ(settled({ending(rows[0], {1}, Status::accepted)}).size(), 1u) << "a settlement that waited for minutes";
}

// The database stood still for minutes: nobody could renew anything.
TEST_F(Rescue, ATimeInWhichNobodyLookedDoesNotCount) {  // E7
  HostLiveness other(address, "box:2");
  submit({item("kept")});
  claim(route(), 1, {1}, *other.keep());
  start();
  look_at_claims();
  clock.pass(10 * kLease);
  look_a_few_times();
  EXPECT_EQ(claimed(), 1);
}

TEST_F(Rescue, AClaimThatCommitsAfterItsHostWasRescuedIsTakenBack) {  // M17 M18
  submit({item("late")});
  start();
  claim(route(), 1, {1}, {12345});
  running->look_everywhere();
  ASSERT_TRUE(eventually([&] { return log.count("lease.expired") == 1; }));
  EXPECT_EQ(claimed(), 0);
}

// Under an old snapshot every look at `claims` reads all that was claimed since.
TEST_F(Rescue, ARowThatSomebodyHoldsLockedKeepsNoOtherOfItsHost) {  // E4 E5
  HostLiveness other(address, "box:2");
  const HostId doomed = *other.keep();
  submit_many(3);
  const auto taken = claim(route(), 3, {1}, doomed);
  RowLock lock(url, taken.rows[1].delivery);
  start();
  kill(doomed);
  look_a_few_times();
  clock.pass(Millis(500));
  ASSERT_TRUE(eventually([&] { return log.count("host.died") == 1; }));
  EXPECT_EQ(log.count("rescue.locked"), 1u);
  EXPECT_EQ(claimed(), 1) << "the locked one";
  lock.release();
  const auto is_back = [&] {
    look_at_claims();
    return claimed() == 0;
  };
  EXPECT_TRUE(eventually(is_back));
}

TEST_F(Rescue, AnIdleLookReadsNoClaims) {  // E13
  HostLiveness other(address, "box:2");
  static_cast<void>(other.keep());
  start();
  look_a_few_times();
  ASSERT_TRUE(eventually([&] { return counted.claim_looks == 1; }));
  const int before = counted.looks;
  ASSERT_TRUE(eventually([&] { return counted.looks > before + 100; }));
  EXPECT_EQ(counted.claim_looks, 1);
  EXPECT_EQ(counted.others, 0);
  for (int i = 1; i <= 8; ++i) {
    look_at_claims();
    EXPECT_EQ(counted.claim_looks, 1 + i) << "eight times in a lease";
  }
}

// ---- liveness ----

class LivenessStory : public HostsWorld {
 protected:
  void start() {
    running = std::make_unique<Liveness>(liveness, clock, LivenessSettings{.name = "box:1", .every = Millis(5), .lease = kLease},
                                         LivenessHooks{.present = [this] { ++present; },
                                                       .rescued = [this] { ++rescued; },
                                                       .open_claims =
                                                           [this] {
                                                             ++asked;
                                                             return OpenClaims{{0, {{1}, {2}}}};
                                                           },
                                                       .database_time = [this](Timestamp, Clock::Monotonic) { ++rounds; }},
                                         log, metrics);
    running->start();
    ASSERT_TRUE(eventually([&] { return running->host().has_value(); }));
  }
  void next_renewal() {
    const int begun = rounds;  // none is under way that would count the time from behind the step
    ASSERT_TRUE(eventually([&] { return rounds > begun + 2; }));
    const int before = asked;
    clock.pass(kLease / 4);
    ASSERT_TRUE(eventually([&] { return asked > before; }));
  }

  ManualClock clock;
  KeptLog log;
  Metrics metrics;
  HostLiveness liveness{address, "box:1"};
  std::atomic<int> present{0}, rescued{0}, asked{0}, rounds{0};
  std::unique_ptr<Liveness> running;
};

TEST_F(LivenessStory, LeasesOfWhatIsHeldForLongAreRenewedAndOthersAreNot) {  // E7
  start();
  submit_many(3);
  for (const std::int64_t token : {1, 2, 3}) claim(route(), 1, {token}, *running->host());
  const auto renewed = [&] {
    return sql.text(
        "SELECT coalesce(string_agg(c.token::text, ' ' ORDER BY c.token), '') FROM claims c JOIN ready r ON r.claim_token = "
        "c.token"
        " WHERE c.lease_until > r.lease_until");
  };
  next_renewal();
  EXPECT_EQ(renewed(), "") << "most are settled before that";
  next_renewal();
  EXPECT_TRUE(eventually([&] { return renewed() == "1 2"; })) << renewed();
}

TEST_F(LivenessStory, AHostThatWasRescuedSaysSoOnceAndGoesOnUnderANewId) {  // E7
  start();
  const HostId before = *running->host();
  const auto session = [&] { return sql.number("SELECT coalesce(max(pid), 0)" + holders_of(before)); };
  const auto first = session();
  sql.execute("SELECT pg_terminate_backend(" + std::to_string(first) + ")");
  EXPECT_TRUE(eventually([&] { return session() != first && session() != 0; })) << "it is back in a session of its own";
  EXPECT_EQ(rescued, 0) << "it was only away: nothing is withdrawn";
  ASSERT_TRUE(eventually([&] {  // again and again: it may just be writing its row anew
    sql.execute("DELETE FROM hosts WHERE host_id = " + std::to_string(before.value));
    return running->host().value_or(before) != before;
  }));
  EXPECT_EQ(rescued, 1);
  EXPECT_EQ(log.count("host.was_rescued"), 1u);
  EXPECT_EQ(sql.number("SELECT count(*) FROM hosts"), 1);
}

}  // namespace
}  // namespace waybill::testing
