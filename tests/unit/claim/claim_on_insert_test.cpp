// What can start is claimed as it is stored; nobody is overtaken and no limit is passed.  M2 M12 M18
#include "claim/claim_on_insert.h"

#include <gtest/gtest.h>

#include "support/call_builders.h"
#include "support/eventually.h"

namespace waybill {
namespace {

using testing::ManualClock;

class ClaimingOnInsert : public ::testing::Test {
 protected:
  static std::shared_ptr<const Contract> contract_of(const std::string& target, const std::string& type = "sms") {
    return std::make_shared<const Contract>(
        Contract{.target = target, .action_type = type, .url = "https://" + target + ".example.org/", .destination = "{}"});
  }
  static std::vector<InsertGroup> insert_groups(std::size_t count, RouteId route = {1}, const std::string& type = "sms") {
    return {{kDefaultOrg, route, contract_of("sms." + std::to_string(route.value), type), count}};
  }
  static ClaimResult rows(std::size_t count, RouteId route = {1}) {
    ClaimResult claimed{.now = {1'000'000}, .rows = {}};
    for (std::size_t i = 0; i < count; ++i)
      claimed.rows.push_back({.delivery = {static_cast<std::int64_t>(i) + 1},
                              .submission = {static_cast<std::int64_t>(i) + 1},
                              .org = kDefaultOrg,
                              .route = route,
                              .due = {1'000'000},
                              .action_order = 1,
                              .created = {1'000'000},
                              .kind = "intent",
                              .client_ref = "ref-" + std::to_string(i),
                              .payload = "{}",
                              .artifact = {}});
    return claimed;
  }
  void saw(const std::vector<DueRoute>& routes = {}) {
    planner.observe(0, {.now = {1'000'000}, .routes = routes}, planner.revision(), clock.now(), clock.now() + Millis(1'000));
  }
  bool may(std::size_t count = 1, RouteId route = {1}) {
    const auto all = insert_groups(count, route);
    const auto claim = first.ask(0, all);
    if (claim) first.carried_out(0, *claim, all, {});
    return claim.has_value();
  }

  Limits limits{.in_flight = 100, .per_target = 10, .per_org = 15, .per_host_name = 10};
  std::int64_t host = 1;
  ManualClock clock;
  Planner planner{limits, [](const std::string& type) { return type == "missing" ? 0u : 1000u; }};
  ClaimLedger ledger;
  std::vector<Job> jobs;
  ClaimOnInsert first{planner,
                      ledger,
                      clock,
                      Millis(30'000),
                      [this] { return host == 0 ? std::nullopt : std::optional(HostId{host}); },
                      [this](std::vector<Job> more) {
                        for (auto& job : more) jobs.push_back(std::move(job));
                      }};
};

TEST_F(ClaimingOnInsert, WhatIsNewStartsAtOnceWhenNothingOlderWaits) {  // M2 M18
  saw();
  const auto asked_at = clock.now();
  const auto claim = first.ask(0, insert_groups(2));
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->host, HostId{1});
  EXPECT_EQ(claim->lease, Millis(30'000));
  EXPECT_EQ(planner.held(), 2u) << "before they are stored: nobody else may take their places";
  clock.pass(Millis(5));
  first.carried_out(0, *claim, insert_groups(2), rows(2));
  EXPECT_EQ(planner.held(), 2u);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[1].token, claim->token);
  EXPECT_EQ(jobs[1].attempt(), 1u);
  EXPECT_EQ(jobs[1].contract->target, "sms.1");
  EXPECT_EQ(jobs[1].claimed_mono, asked_at + Millis(5)) << "reckoned from when the answer was there";      // E6
  EXPECT_EQ(jobs[1].begin_before, asked_at + Millis(30'000)) << "the lease is counted from the question";  // E7
  EXPECT_EQ(jobs[1].claimed_at, Timestamp{1'000'000});
  std::vector<Finished> finished;
  for (const auto& job : jobs) finished.push_back({.job = job});
  EXPECT_TRUE(ledger.take_done(0).empty());
  ledger.settled(finished, {});
  EXPECT_EQ(ledger.take_done(0), DoneClaims{claim->token});
}

// After a failover: the new primary may lack their deletion.
TEST_F(ClaimingOnInsert, WhatWasDoneLastIsToldOnceMore) {  // E11
  const auto end = [&](Shard shard) {
    const ClaimToken token = ledger.next({1});
    ledger.opened(shard, token, 1);
    Finished last;
    last.job.token = token;
    ledger.settled({last}, {});
    return token;
  };
  const auto take = [&](Shard shard, bool is_deleted) {
    const auto done = ledger.take_done(shard);
    is_deleted ? ledger.deleted(shard, done) : ledger.put_back_done(shard, done);
    return done;
  };
  const ClaimToken oldest = end(0);
  DoneClaims done{oldest};
  while (done.size() < ClaimLedger::kRemembered) done.push_back(end(0));
  EXPECT_EQ(take(0, true), done);
  const ClaimToken other = end(1);
  for (std::size_t i = 0; i < ClaimLedger::kRemembered; ++i)
    take(1, false);  // the database is away: what was tried is not deleted
  EXPECT_EQ(take(1, true), DoneClaims{other});
  ledger.done_again();
  EXPECT_EQ(take(0, true), DoneClaims(done.begin() + 1, done.end())) << "no more than so many are remembered";
  EXPECT_EQ(take(1, true), DoneClaims{other});
  ledger.done_again();
  EXPECT_EQ(take(1, true), DoneClaims{other}) << "as often as it is asked";
}

TEST_F(ClaimingOnInsert, NobodyWhoWaitsIsOvertaken) {
  saw({{{2}, kDefaultOrg, {1'000'001}}});
  EXPECT_TRUE(may(1, {2})) << "that is for later";
  EXPECT_TRUE(may(1, {3}));
  planner.wake(0, insert_groups(1, {3}), clock.now());
  EXPECT_FALSE(may(1, {3})) << "something of its target is due";
  EXPECT_TRUE(may(1, {1})) << "its target has no place yet";
  ASSERT_TRUE(first.ask(0, insert_groups(1, {1})));
  EXPECT_FALSE(may(1, {1})) << "it has one: whoever is ready goes first";
  auto mixed = insert_groups(1, {1});
  mixed.push_back(insert_groups(1, {3}).front());
  EXPECT_FALSE(first.ask(0, mixed)) << "all or none";
  saw();
  EXPECT_TRUE(may(1, {3}));
}

TEST_F(ClaimingOnInsert, AHostThatIsFullKeepsAFewPlacesForTargetsThatHaveNone) {  // E9
  Limits wide{.in_flight = 1024, .per_target = 5000, .per_org = 5000, .per_host_name = 5000};
  Planner full{wide, [](const std::string&) { return 5000u; }};
  full.observe(0, {.now = {1'000'000}, .routes = {}}, full.revision(), clock.now(), clock.now() + Seconds(1));
  full.wake(0, insert_groups(1, {1}), clock.now());
  EXPECT_EQ(full.plan(5000, clock.now()).shares.at(0).front().count, 992u) << "one in 32 is kept";
  EXPECT_TRUE(full.plan(5000, clock.now()).shares.empty());
  EXPECT_FALSE(full.admit(0, insert_groups(1, {1}), clock.now())) << "not for those that have places";
  for (std::size_t held = 0; held < kNextToNone; ++held) EXPECT_TRUE(full.admit(0, insert_groups(1, {2}), clock.now())) << held;
  EXPECT_FALSE(full.admit(0, insert_groups(1, {2}), clock.now())) << "it has a few by now: whoever is ready goes first";
  EXPECT_FALSE(full.admit(0, insert_groups(29, {3}), clock.now())) << "never more than limits.in_flight";
  EXPECT_TRUE(full.admit(0, insert_groups(28, {3}), clock.now()));
}

TEST_F(ClaimingOnInsert, RoutesThatAreStillToBeLearntCountAsReady) {  // E9
  saw({{{7}, kDefaultOrg, {1'000'000}}});
  ASSERT_EQ(planner.plan(0, clock.now()).unknown, (std::vector{RouteId{7}}));
  ASSERT_TRUE(first.ask(0, insert_groups(1, {1}))) << "its target has no place yet";
  EXPECT_FALSE(may(1, {1})) << "it has one: what is not known yet may have none";
  EXPECT_TRUE(may(1, {2}));
}

TEST_F(ClaimingOnInsert, WithoutAFreshLookAtTheQueueNothingIsKnown) {
  EXPECT_FALSE(may());
  saw();
  EXPECT_FALSE(first.ask(1, insert_groups(1))) << "another shard";
  clock.pass(Millis(1'000));
  EXPECT_TRUE(may());
  clock.pass(Millis(1));
  EXPECT_FALSE(may());
}

TEST_F(ClaimingOnInsert, NoLimitIsPassedAndNothingIsHeldForThoseWhoMustWait) {  // M18
  saw();
  EXPECT_FALSE(may(11)) << "per_target";
  EXPECT_TRUE(may(10));
  auto both = insert_groups(8, {1});
  both.push_back(insert_groups(8, {2}).front());
  EXPECT_FALSE(first.ask(0, both)) << "per_org";
  EXPECT_FALSE(first.ask(0, insert_groups(1, {9}, "missing")));
  EXPECT_EQ(planner.held(), 0u);
}

TEST_F(ClaimingOnInsert, TargetsOfOneHostNameShareItsLimit) {  // M17 M18
  Limits roomy{.in_flight = 100, .per_target = 100, .per_org = 100, .per_host_name = 10};
  Planner planned{roomy, [](const std::string&) { return 1000u; }};
  planned.observe(0, {.now = {1'000'000}, .routes = {}}, planned.revision(), clock.now(), clock.now() + Seconds(1));
  const auto of = [](RouteId route, const std::string& path, std::size_t count, Policy policy) {
    return std::vector<InsertGroup>{
        {kDefaultOrg, route,
         std::make_shared<const Contract>(Contract{.target = "hook." + path,
                                                   .action_type = "webhook",
                                                   .url = "https://one.example.org:8443/" + path,
                                                   .destination = "{}",
                                                   .policy = policy,
                                                   .max_attempts = policy == Policy::max_attempts ? 3u : 0u}),
         count}};
  };
  for (const auto policy : {Policy::max_attempts, Policy::one_shot}) {
    const std::int64_t id = policy == Policy::one_shot ? 10 : 20;
    const auto six = of({id}, "a", 6, policy), five = of({id + 1}, "b", 5, policy), four = of({id + 2}, "c", 4, policy);
    ASSERT_TRUE(planned.admit(0, six, clock.now()));
    EXPECT_FALSE(planned.admit(0, five, clock.now())) << "11 at one host name";
    EXPECT_TRUE(planned.admit(0, four, clock.now()));
    planned.give_back(0, six);
    planned.give_back(0, four);
  }
}

TEST_F(ClaimingOnInsert, TargetsOfOneActionTypeShareItsConcurrency) {  // M17 M18
  Planner planned{limits, [](const std::string& type) { return type == "sms" ? 5u : 1000u; }};
  planned.observe(0, {.now = {1'000'000}, .routes = {}}, planned.revision(), clock.now(), clock.now() + Seconds(1));
  ASSERT_TRUE(planned.admit(0, insert_groups(3, {1}), clock.now()));
  EXPECT_FALSE(planned.admit(0, insert_groups(3, {2}), clock.now())) << "6 calls of a plugin that takes 5";
  EXPECT_TRUE(planned.admit(0, insert_groups(3, {3}, "push"), clock.now()));
  EXPECT_TRUE(planned.admit(0, insert_groups(2, {2}), clock.now()));
}

TEST_F(ClaimingOnInsert, PlacesOfThoseThatWereThereAlreadyAreFree) {
  saw();
  const auto claim = first.ask(0, insert_groups(3));
  ASSERT_TRUE(claim);
  first.carried_out(0, *claim, insert_groups(3), rows(1));
  EXPECT_EQ(planner.held(), 1u);
  EXPECT_EQ(jobs.size(), 1u);
}

TEST_F(ClaimingOnInsert, AClaimThatNobodySawIsToBeGivenBack) {  // M12
  saw();
  const auto claim = first.ask(0, insert_groups(3));
  ASSERT_TRUE(claim);
  first.unconfirmed(0, *claim, insert_groups(3));
  EXPECT_EQ(planner.held(), 0u);
  ASSERT_TRUE(ledger.any_unconfirmed());
  EXPECT_EQ(ledger.any_unconfirmed()->token, claim->token);
  EXPECT_EQ(ledger.any_unconfirmed()->host, HostId{1});
  ledger.given_back(claim->token);
  EXPECT_FALSE(ledger.any_unconfirmed());
}

TEST_F(ClaimingOnInsert, WhileATargetIsDownWhatIsNewWaits) {  // E14
  saw();
  planner.observe(Cooldowns{{1'000'000}, {{kDefaultOrg, "sms.1", {2'000'000}, "down"}}}, clock.now());
  EXPECT_FALSE(may(1, {1}));
  EXPECT_TRUE(may(1, {2}));
  clock.pass(Seconds(1));
  EXPECT_FALSE(may(1, {1})) << "nobody has looked since";
  static_cast<void>(planner.plan(0, clock.now()));
  EXPECT_FALSE(may(1, {1})) << "half-open: there is a place, and it is for its oldest";
}

TEST_F(ClaimingOnInsert, NoTwoClaimsOfAnyHostsHaveOneToken) {  // E8
  ClaimLedger other;
  const auto low = ledger.next({1}), high = other.next({2});
  EXPECT_GT(high.value - low.value, std::int64_t{1} << 37) << "a host that claims a thousand times a second for four years";
  EXPECT_GT(ledger.next({(1 << 25) - 1}).value, 0) << "also the last host's tokens are numbers above none";
}

TEST_F(ClaimingOnInsert, AHostThatMustNotClaimDoesNot) {  // M18
  saw();
  host = 0;
  EXPECT_FALSE(may());
}

TEST_F(ClaimingOnInsert, AStopWaitsForWhatIsUnderWayAndLetsNothingBegin) {
  saw();
  const auto claim = first.ask(0, insert_groups(1));
  ASSERT_TRUE(claim);
  std::atomic<bool> stopped{false};
  std::jthread stopping([&] {
    first.stop();
    stopped = true;
  });
  ASSERT_TRUE(testing::eventually([&] { return !may(); }));
  EXPECT_FALSE(stopped);
  first.carried_out(0, *claim, insert_groups(1), rows(1));
  stopping.join();
  EXPECT_EQ(jobs.size(), 1u);
}

}  // namespace
}  // namespace waybill
