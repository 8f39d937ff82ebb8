// Who is due is taken, in time, as much as can start, and handed on.  M6 M7 M12 M17 M18
#include "claim/claimer.h"

#include <gtest/gtest.h>

#include <set>

#include "claim/claim_on_insert.h"
#include "domain/idempotency.h"
#include "limits/release.h"
#include "support/call_builders.h"
#include "support/eventually.h"
#include "support/fake_store.h"
#include "unit/settle/silence.h"

namespace waybill {
namespace {

using testing::eventually;
using testing::FakeStore;
using testing::KeptLog;
using testing::ManualClock;

class Claiming : public ::testing::Test {
 protected:
  void TearDown() override { claimer.reset(); }  // its thread uses all the rest
  void start() {
    store = std::make_unique<FakeStore>(settings.shards);
    planner =
        std::make_unique<Planner>(limits, [this](const std::string& type) { return type == "missing" ? 0 : concurrency.load(); });
    add_work();
    const auto take = [this](std::vector<Job> jobs) {
      const std::lock_guard lock(mutex_);
      for (auto& job : jobs) jobs_.push_back(std::move(job));
    };
    claim_on_insert = std::make_unique<ClaimOnInsert>(
        *planner, ledger, clock, settings.lease, [this] { return host == 0 ? std::nullopt : std::optional(HostId{host}); }, take);
    claimer = std::make_unique<Claimer>(
        *store, *planner, ledger, signal, reach, clock, settings,
        [this]() -> std::optional<HostId> {
          ++asked_;
          return host == 0 ? std::nullopt : std::optional(HostId{host});
        },
        take, log);
    claimer->start();
  }
  void wake(const std::vector<InsertGroup>& groups) {
    planner->wake(0, groups, clock.now());
    signal.wake();
  }
  void release(const std::vector<Finished>& finished, const std::vector<ClaimToken>& unwritten = {}) {
    waybill::release(*planner, ledger, signal, finished, unwritten, clock.now());
  }
  RouteId rated_route() {
    return store->add_route(kDefaultOrg, {.target = "slow",
                                          .action_type = "sms",
                                          .url = "http://h/",
                                          .destination = "{}",
                                          .policy = Policy::max_attempts,
                                          .max_attempts = 3,
                                          .rate = Rate{10, Millis(1000)}});
  }
  RouteId channel(const std::string& id, OrgId org = kDefaultOrg) {
    return store->add_route(org, {.target = "channel:" + id,
                                  .action_type = "webhook",
                                  .url = {},
                                  .destination = "{}",
                                  .policy = Policy::max_attempts,
                                  .max_attempts = 3,
                                  .channel = id});
  }
  RouteId route(const std::string& target, Policy policy = Policy::max_attempts, const std::string& type = "sms",
                OrgId org = kDefaultOrg) {
    return store->add_route(org, {.target = target,
                                  .action_type = type,
                                  .url = "https://" + target + ".example.org:8443/path?query",
                                  .destination = "{}",
                                  .policy = policy,
                                  .max_acceptance = policy == Policy::deadline ? Seconds(60) : Seconds(0),
                                  .max_attempts = 3});
  }
  std::vector<InsertGroup> told(RouteId to) {
    const auto known = store->contract(to);
    return {{known->org, to, std::make_shared<const Contract>(known->contract), 1}};
  }
  static NewSubmission big(RouteId to, const std::string& ref, std::size_t bytes) {
    return {.org = kDefaultOrg,
            .kind = "intent",
            .client_ref = ref,
            .target = "sms.primary",
            .route = to,
            .payload = std::string(bytes, 'x')};
  }
  void add(RouteId to, std::size_t count, const std::string& prefix = "ref-", Micros due_in = Micros(0)) {
    for (std::size_t i = 0; i < count; ++i) store->add(to, prefix + std::to_string(i), due_in);
  }
  std::vector<Job> jobs() {
    const std::lock_guard lock(mutex_);
    return jobs_;
  }
  bool has(std::size_t count) {
    return eventually([&] { return jobs().size() >= count; });
  }
  // True when the claimer has looked around twice more: whatever it could take, it has taken.
  bool looked_again() {
    const auto before = asked_.load();
    return eventually([&] {
      signal.walk();
      return asked_ >= before + 2;
    });
  }
  void settle(std::vector<Job> done) {
    std::vector<Finished> finished;
    for (auto& job : done) finished.push_back({.job = std::move(job)});
    release(finished);
  }

  ClaimerSettings settings{.shards = 1, .batch = 1000, .lease = Millis(60'000), .poll = std::chrono::hours(1)};
  Limits limits;
  std::atomic<std::size_t> concurrency{1000};
  std::atomic<std::int64_t> host{1};
  std::function<void()> add_work = [] {};
  std::unique_ptr<FakeStore> store;
  ManualClock clock;
  KeptLog log;
  std::unique_ptr<Planner> planner;
  ClaimLedger ledger;
  std::unique_ptr<ClaimOnInsert> claim_on_insert;
  WorkSignal signal;
  Answers answers;
  HostReach reach{answers};
  std::unique_ptr<Claimer> claimer;

 private:
  std::atomic<int> asked_{0};
  std::mutex mutex_;
  std::vector<Job> jobs_;
};

TEST_F(Claiming, WhatIsDueIsHandedOnWithAllThatAnAttemptNeeds) {  // M6 M11
  add_work = [this] { store->add(route("sms.primary"), "a \"quoted\" \\ name"); };
  start();
  ASSERT_TRUE(has(1));
  const Job job = jobs()[0];
  const auto stored = store->deliveries()[0];
  EXPECT_EQ(stored.status, Status::claimed);
  EXPECT_EQ(stored.host, HostId{1});
  EXPECT_EQ(job.delivery, stored.row.delivery);
  EXPECT_EQ(job.submission, stored.row.submission);
  EXPECT_EQ(job.token, stored.token);
  EXPECT_EQ(job.attempt(), 1u);
  EXPECT_EQ(job.org, kDefaultOrg);
  EXPECT_EQ(job.contract->target, "sms.primary");
  EXPECT_EQ(job.created, stored.row.created);
  EXPECT_EQ(job.claimed_at, store->now());
  EXPECT_EQ(job.claimed_mono, clock.now());
  EXPECT_EQ(job.idempotency_key, idempotency_key(kDefaultOrg, "intent", "a \"quoted\" \\ name", 1));
  EXPECT_EQ(job.context, R"({"org":1,"kind":"intent","reference":"a \"quoted\" \\ name"})");
  EXPECT_EQ(planner->held(), 1u);
}

TEST_F(Claiming, AHostWithoutAnIdClaimsNothing) {  // M18
  host = 0;
  settings.poll = Millis(1);
  add_work = [this] { add(route("sms.primary"), 1); };
  start();
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(store->calls("due_routes"), 0u);
  host = 7;
  ASSERT_TRUE(has(1));
  EXPECT_EQ(store->deliveries()[0].host, HostId{7});
}

TEST_F(Claiming, TheIdIsAskedForAnewEachTime) {  // M18
  add_work = [this] { add(route("sms.primary"), 1, "first-"); };
  start();
  ASSERT_TRUE(has(1));
  host = 2;
  add({1}, 1, "second-");
  signal.walk();
  ASSERT_TRUE(has(2));
  std::set<std::int64_t> hosts;
  for (const auto& d : store->deliveries()) hosts.insert(d.host.value);
  EXPECT_EQ(hosts, (std::set<std::int64_t>{1, 2}));
  EXPECT_NE(jobs()[0].token, jobs()[1].token) << "each claim has a token of its own";
}

TEST_F(Claiming, NothingIsTakenBeforeItIsDue) {  // M12
  add_work = [this] { add(route("sms.primary"), 1, "later-", std::chrono::hours(5)); };
  start();
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(store->calls("claim"), 0u);
  store->pass(std::chrono::hours(5));
  signal.walk();
  EXPECT_TRUE(has(1));
}

TEST_F(Claiming, ItSleepsNoLongerThanUntilTheNextIsDue) {  // M12
  settings.poll = std::chrono::hours(1);
  add_work = [this] { add(route("sms.primary"), 1, "soon-", Millis(20)); };
  start();
  ASSERT_TRUE(eventually([&] { return store->calls("due_routes") >= 1; }));
  store->pass(Millis(20));
  clock.pass(Millis(20));
  EXPECT_TRUE(has(1)) << "nobody woke it, and the next poll is an hour away";
}

TEST_F(Claiming, ATargetThatRestsIsPassedOverUntilItHasRested) {
  add_work = [this] {
    add(route("resting"), 3, "resting-");
    add(route("working"), 3, "working-");
    store->add_route({2}, {.target = "resting", .action_type = "sms", .url = "http://h", .destination = "{}"});
    add({3}, 1, "other-");
    EXPECT_TRUE(
        store->cool_down(std::vector<Cooldown>{{kDefaultOrg, "resting", store->now() + std::chrono::hours(2), "http_429"}}));
  };
  start();
  ASSERT_TRUE(has(4));
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(jobs().size(), 4u) << "the other targets' work, and that of another organisation's target of the same name";
  for (const auto& job : jobs()) EXPECT_NE(job.route, RouteId{1});
  store->pass(std::chrono::hours(2));
  signal.walk();
  EXPECT_TRUE(has(5)) << "half-open: one goes first";
  store->end_rest(kDefaultOrg, "resting");
  signal.walk();
  EXPECT_TRUE(has(7));
}

TEST_F(Claiming, NoMoreIsTakenThanCanStartAndTheRestWhenPlacesFallFree) {  // M17
  limits.in_flight = 10;
  add_work = [this] { add(route("sms.primary"), 25); };
  start();
  ASSERT_TRUE(has(10));
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(jobs().size(), 10u);
  EXPECT_EQ(store->count(Status::claimed), 10u) << "what cannot start stays in the queue for other hosts";
  settle(jobs());
  ASSERT_TRUE(has(20));
  auto second = jobs();
  second.erase(second.begin(), second.begin() + 10);
  settle(second);
  ASSERT_TRUE(has(25));
  EXPECT_EQ(planner->held(), 5u);
}

TEST_F(Claiming, ABacklogOfManyBatchesIsTakenWithoutWaiting) {
  settings.batch = 50;
  limits = {.in_flight = 10'000, .per_target = 10'000, .per_org = 10'000, .per_host_name = 10'000};
  concurrency = 10'000;
  add_work = [this] { add(route("sms.primary"), 1'000); };
  start();
  ASSERT_TRUE(has(1'000)) << "the poll is an hour away";
  std::set<DeliveryId> all;
  for (const auto& job : jobs()) all.insert(job.delivery);
  EXPECT_EQ(all.size(), 1'000u);
}

TEST_F(Claiming, WhatIsDueAgainBeforeTheMarkIsNotForgotten) {
  settings.batch = 10;
  limits.in_flight = 10;
  add_work = [this] { add(route("sms.primary"), 30); };
  start();
  ASSERT_TRUE(has(10));
  const auto first = jobs();
  ASSERT_TRUE(store->give_back(0, {1}, first[0].token));  // the oldest ten are due again, and lie before the mark
  clock.pass(Seconds(2));
  for (std::size_t seen = 10; seen < 40; seen += 10) {
    auto last = jobs();
    last.erase(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(seen - 10));
    settle(last);
    ASSERT_TRUE(has(seen + 10)) << seen;
  }
  EXPECT_EQ(store->count(Status::due), 0u);
}

TEST_F(Claiming, EveryShardIsServed) {
  settings.shards = 4;
  limits.per_host_name = 1000;
  add_work = [this] { add(route("sms.primary"), 200); };
  start();
  ASSERT_TRUE(has(200));
  std::set<Shard> shards;
  for (const auto& job : jobs()) shards.insert(shard_of(job.delivery));
  EXPECT_EQ(shards.size(), 4u);
}

TEST_F(Claiming, ABacklogInOneShardDoesNotHideOlderWorkInAnother) {
  settings.shards = 2;
  settings.batch = limits.in_flight = 10;
  DeliveryId old{};
  add_work = [&] {
    const auto to = route("sms.primary");
    const auto put = [&](Shard shard, const std::string& prefix, std::size_t count, Micros due_in) {
      DeliveryId last{};
      for (std::size_t i = 0, n = 0; n < count; ++i) {
        const auto ref = prefix + std::to_string(i);
        if (shard_for(kDefaultOrg, ref, 2) != shard) continue;
        last = store->add(to, ref, due_in);
        ++n;
      }
      return last;
    };
    put(1, "backlog-", 100, -Seconds(10));  // host 1 begins with shard 1
    old = put(0, "old-", 1, -Seconds(20));
  };
  start();
  for (std::size_t seen = 10; seen <= 50; seen += 10) {
    ASSERT_TRUE(has(seen));
    auto last = jobs();
    last.erase(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(seen - 10));
    settle(last);
  }
  EXPECT_EQ(store->delivery(old).status, Status::claimed);
}

TEST_F(Claiming, ADatabaseThatIsAwayIsTriedAgain) {  // M12
  settings.poll = Millis(1);
  add_work = [this] {
    add(route("sms.primary"), 3);
    store->go_away();
  };
  start();
  ASSERT_TRUE(eventually([&] { return log.count("claim.database_unavailable") >= 3; }));
  EXPECT_TRUE(jobs().empty());
  store->come_back();
  EXPECT_TRUE(has(3));
}

TEST_F(Claiming, AClaimWhoseAnswerWasLostIsGivenBackAndTakenAgain) {  // M12 M17
  settings.poll = Millis(1);
  add_work = [this] {
    add(route("sms.primary"), 3);
    store->lose_answers(1);
  };
  start();
  ASSERT_TRUE(has(3));
  EXPECT_EQ(jobs().size(), 3u);
  EXPECT_GE(store->calls("give_back"), 1u);
  for (const auto& d : store->deliveries()) {
    EXPECT_EQ(d.row.history.lease_lost, 0u);
    EXPECT_EQ(d.token, jobs()[0].token) << "only the second claim holds";
  }
}

TEST_F(Claiming, ARouteWhoseContractCannotBeReadDoesNotBlockTheOthers) {
  add_work = [this] {
    add(route("broken"), 1, "broken-");
    add(route("sms.primary"), 2, "good-");
    store->poison_route("broken");
  };
  start();
  ASSERT_TRUE(has(2));
  EXPECT_GE(log.count("claim.no_contract"), 1u);
  EXPECT_EQ(store->count(Status::due), 1u);
}

TEST_F(Claiming, WhatCannotRunWaitsUntilItsTimeIsOverAndThenEnds) {  // M7
  add_work = [this] {
    add(route("waits", Policy::max_attempts, "missing"), 1, "waits-");
    add(route("expires", Policy::deadline, "missing"), 1, "expires-");
  };
  start();
  ASSERT_TRUE(looked_again());
  EXPECT_TRUE(jobs().empty());
  store->pass(Seconds(60));
  signal.walk();
  ASSERT_TRUE(has(1));
  ASSERT_TRUE(looked_again());
  ASSERT_EQ(jobs().size(), 1u);
  EXPECT_EQ(jobs()[0].contract->target, "expires");
}

TEST_F(Claiming, AfterStopNothingMoreIsClaimedAndTheLastBatchWasHandedOn) {
  limits.in_flight = 10;
  add_work = [this] { add(route("sms.primary"), 100); };
  start();
  ASSERT_TRUE(has(10));
  claimer->stop();
  EXPECT_EQ(jobs().size(), store->count(Status::claimed));
  const auto calls = store->calls("claim");
  settle(jobs());
  signal.walk();
  EXPECT_EQ(store->calls("claim"), calls);
  EXPECT_EQ(jobs().size(), store->count(Status::claimed));
}

TEST_F(Claiming, AStopGivesBackAClaimWhoseAnswerWasLost) {  // M17 M18
  add_work = [this] {
    add(route("sms.primary"), 3);
    store->lose_answers(1);
  };
  start();
  ASSERT_TRUE(eventually([&] { return log.count("claim.database_unavailable") == 1; })) << "the next round is an hour away";
  EXPECT_EQ(store->count(Status::claimed), 3u);
  claimer->stop();
  EXPECT_EQ(store->count(Status::due), 3u) << "other hosts would wait for the lease";
  EXPECT_TRUE(jobs().empty());
}

TEST_F(Claiming, AHostThatMayClaimNoMoreGivesBackAClaimWhoseAnswerWasLost) {  // O5 M17
  add_work = [this] {
    add(route("sms.primary"), 3);
    store->lose_answers(1);
  };
  start();
  ASSERT_TRUE(eventually([&] { return log.count("claim.database_unavailable") == 1; }));
  host = 0;  // an operator has drained it
  signal.wake();
  EXPECT_TRUE(eventually([&] { return store->count(Status::due) == 3; }))
      << "others would wait for the lease, and a one_shot end untried";
  EXPECT_TRUE(jobs().empty());
}

// ---- the list of claims ----

TEST_F(Claiming, AClaimIsForgottenWithTheNextOneOnceAllOfItIsSettled) {  // M18
  settings.batch = 2;
  limits.in_flight = 4;
  add_work = [this] { add(route("sms.primary"), 6); };
  start();
  ASSERT_TRUE(has(4));
  const auto first = jobs();
  EXPECT_EQ(store->claims(), (std::set{first[0].token, first[2].token}));
  settle({first[0], first[2], first[3]});
  ASSERT_TRUE(eventually([&] { return store->count(Status::claimed) == 6; }));
  ASSERT_TRUE(looked_again());
  EXPECT_TRUE(store->claims().contains(first[0].token)) << "one of it is out";
  EXPECT_FALSE(store->claims().contains(first[2].token));
}

TEST_F(Claiming, AnIdleHostForgetsWhatIsDone) {
  add_work = [this] { add(route("sms.primary"), 3); };
  start();
  ASSERT_TRUE(has(3));
  settle(jobs());
  EXPECT_TRUE(eventually([&] {
    clock.pass(Seconds(1));
    signal.walk();
    return store->claims().empty();
  }));
}

TEST_F(Claiming, AClaimOfWhichSomethingCouldNotBeWrittenIsKept) {  // M17 M18
  add_work = [this] { add(route("sms.primary"), 2); };
  start();
  ASSERT_TRUE(has(2));
  std::vector<Finished> finished;
  for (auto& job : jobs()) finished.push_back({.job = std::move(job)});
  release(finished, {finished[0].job.token});
  clock.pass(Seconds(5));
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(store->claims(), std::set{finished[0].job.token}) << "its lease is what ends it";
}

TEST_F(Claiming, WhoHasABacklogIsNotAskedForAgainAtOnce) {
  settings.batch = 10;
  limits.in_flight = limits.per_target = limits.per_org = limits.per_host_name = 10'000;
  add_work = [this] { add(route("sms.primary"), 500); };
  start();
  ASSERT_TRUE(has(500));
  EXPECT_GE(store->calls("claim"), 50u);
  EXPECT_LE(store->calls("due_routes"), 1u) << "at the begin";
}

TEST_F(Claiming, WhatIsNewElsewhereIsSeenWhileABacklogLasts) {  // M16
  settings.batch = 1;
  settings.poll = Millis(500);
  limits.in_flight = 2;
  add_work = [this] { add(route("sms.primary"), 1000); };
  start();
  ASSERT_TRUE(has(2));
  store->add(route("sms.other"), "new");
  std::size_t settled = 0;
  EXPECT_TRUE(eventually([&] {
    clock.pass(Millis(20));
    const auto all = jobs();
    settle({all.begin() + static_cast<std::ptrdiff_t>(settled), all.end()});
    settled = all.size();
    return std::any_of(all.begin(), all.end(), [](const Job& job) { return job.contract->target == "sms.other"; });
  }));
  EXPECT_LT(settled, 500u);
}

// ---- what the intake tells ----

TEST_F(Claiming, WhatTheIntakeTellsIsClaimedWithoutAWalk) {
  start();
  ASSERT_TRUE(eventually([&] { return store->calls("due_routes") == 1; }));  // at the begin; the next one is an hour away
  const auto primary = route("sms.primary");
  store->hide(primary);  // so that no walk finds it
  add(primary, 1, "told-");
  wake(told(primary));
  ASSERT_TRUE(has(1));
}

TEST_F(Claiming, ATargetThatIsDownIsPassedOverAlsoWhenTheIntakeTellsOfIt) {  // E14
  RouteId primary;
  add_work = [&] {
    primary = route("sms.primary");
    ASSERT_TRUE(store->cool_down(std::vector<Cooldown>{{kDefaultOrg, "sms.primary", store->now() + Seconds(60), "outage"}}));
  };
  start();
  ASSERT_TRUE(looked_again());
  add(primary, 1);
  wake(told(primary));
  ASSERT_TRUE(looked_again());
  EXPECT_TRUE(jobs().empty());
}

TEST_F(Claiming, AfterAnOutageOneGoesFirstAndItsAnswerLetsTheOthersGo) {  // E14
  RouteId primary;
  add_work = [&] {
    primary = route("sms.primary");
    add(primary, 20);
    ASSERT_TRUE(store->cool_down(std::vector<Cooldown>{{kDefaultOrg, "sms.primary", store->now(), "outage"}}));
  };
  start();
  ASSERT_TRUE(has(1));
  ASSERT_TRUE(looked_again());
  ASSERT_EQ(jobs().size(), 1u);
  EXPECT_TRUE(jobs()[0].probe);
  store->end_rest(kDefaultOrg, "sms.primary");  // as the settlement of what was accepted does
  release({{.job = jobs()[0], .outcome = Outcome{.verdict = Verdict::accepted}}});
  ASSERT_TRUE(has(5)) << "nobody woke it";
}

TEST_F(Claiming, AProbeThatProvesNothingLetsNobodyGo) {  // E14
  add_work = [&] {
    add(route("sms.primary"), 20);
    ASSERT_TRUE(store->cool_down(std::vector<Cooldown>{{kDefaultOrg, "sms.primary", store->now(), "outage"}}));
  };
  start();
  ASSERT_TRUE(has(1));
  release({{.job = jobs()[0], .outcome = Outcome{.verdict = Verdict::transient, .reach = Reach::not_sent}}});
  ASSERT_TRUE(has(2)) << "the next probe";
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(jobs().size(), 2u);
}

TEST_F(Claiming, AProbeForWhichThereIsNothingToSendIsGivenUp) {  // E14
  add_work = [&] {
    add(route("sms.primary"), 1);
    store->lock("ref-0");  // another host is taking it
    ASSERT_TRUE(store->cool_down(std::vector<Cooldown>{{kDefaultOrg, "sms.primary", store->now(), "outage"}}));
  };
  start();
  ASSERT_TRUE(eventually([&] { return store->calls("release_probes") > 0; }));
  EXPECT_TRUE(jobs().empty());
  store->unlock_rows();
  signal.walk();
  ASSERT_TRUE(has(1));
  EXPECT_TRUE(jobs()[0].probe);
  const auto given_up = store->calls("release_probes");
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(store->calls("release_probes"), given_up) << "this one is under way";
}

TEST_F(Claiming, AProbeThatMayNotStartYetIsGivenUp) {  // E14
  add_work = [&] {
    add(rated_route(), 1);
    store->permit(0);
    ASSERT_TRUE(store->cool_down(std::vector<Cooldown>{{kDefaultOrg, "slow", store->now(), "outage"}}));
  };
  start();
  EXPECT_TRUE(eventually([&] { return store->calls("release_probes") > 0; }));
  EXPECT_TRUE(jobs().empty());
}

TEST_F(Claiming, WhatAnotherHostProbesIsLeftToIt) {  // E14
  add_work = [&] {
    add(route("sms.primary"), 2);
    add(route("sms.other"), 1);
    store->fail_probes(true);
    ASSERT_TRUE(store->cool_down(std::vector<Cooldown>{{kDefaultOrg, "sms.primary", store->now(), "outage"}}));
  };
  start();
  ASSERT_TRUE(has(1));
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(jobs().size(), 1u);
  EXPECT_EQ(jobs()[0].contract->target, "sms.other");
}

TEST_F(Claiming, ATargetWithARateGetsWhatItsPermitsAllow) {  // E14
  RouteId rated;
  add_work = [&] {
    rated = rated_route();
    add(rated, 10);
    add(route("sms.other"), 5, "other-");
    store->permit(3);
  };
  start();
  ASSERT_TRUE(has(8));
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(jobs().size(), 8u) << "three of the one, all of the other";
  EXPECT_EQ(planner->held(), 8u);
  EXPECT_FALSE(claim_on_insert->ask(0, told(rated))) << "what is new needs permits too";
  store->permit(2);
  clock.pass(Seconds(1));
  signal.walk();
  EXPECT_TRUE(has(10));
}

TEST_F(Claiming, ChannelsOfAnOrganisationThatAnotherHostServesAreLeftToIt) {  // N9
  add_work = [&] {
    add(channel("ops"), 1, "mine-");
    add(channel("ops", {2}), 1, "theirs-");
    add(route("sms.other"), 5, "other-");
    store->serve_elsewhere({2});
  };
  start();
  ASSERT_TRUE(has(6));
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(jobs().size(), 6u);
  EXPECT_EQ(planner->held(), 6u);
  EXPECT_EQ(store->served(), (std::set<OrgId>{kDefaultOrg}));
}

TEST_F(Claiming, AtItsEndItLeavesTheChannelsOfWhichNothingIsUnderWay) {  // N9
  add_work = [&] {
    add(channel("ops"), 1, "mine-");
    add(channel("ops", {2}), 1, "theirs-");
  };
  start();
  ASSERT_TRUE(has(2));
  for (const auto& job : jobs())
    if (job.org == OrgId{2}) settle({job});
  ASSERT_TRUE(eventually([&] { return planner->held() == 1; }));
  EXPECT_EQ(store->served().size(), 2u);
  host = 0;  // outdated, it claims nothing any more
  claimer->stop();
  EXPECT_EQ(store->served(), (std::set<OrgId>{kDefaultOrg})) << "the other one's work is still under way";
}

TEST_F(Claiming, WhenNobodySaysWhoServesChannelsIntentsGoOn) {  // N9
  add_work = [&] {
    add(channel("ops"), 1, "mine-");
    add(route("sms.other"), 5, "other-");
    store->fail_once("serve_channels");
  };
  start();
  ASSERT_TRUE(has(5));
  for (const auto& job : jobs()) EXPECT_TRUE(job.channel == nullptr && job.contract->channel.empty());
  EXPECT_EQ(log.count("claim.channels_unavailable"), 1u);
  EXPECT_EQ(log.count("claim.database_unavailable"), 0u);
  clock.pass(Seconds(1));
  signal.walk();
  EXPECT_TRUE(has(6)) << "they are asked for again";
}

TEST_F(Claiming, AChannelHasTheRateOfItsSettings) {  // N9
  add_work = [&] {
    store->set_rate(Rate{10, Millis(1000)});
    store->permit(3);
    add(channel("ops"), 10);
  };
  start();
  std::size_t settled = 0;
  const auto goes_on_to = [&](std::size_t count) {
    return eventually([&] {
      const auto all = jobs();
      settle({all.begin() + static_cast<std::ptrdiff_t>(settled), all.end()});
      settled = all.size();
      signal.walk();
      return settled >= count;
    });
  };
  ASSERT_TRUE(goes_on_to(3));
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(jobs().size(), 3u);
  store->set_rate({});
  clock.pass(Seconds(1));
  EXPECT_TRUE(goes_on_to(10)) << "a change holds for what waits";
}

TEST_F(Claiming, AnotherHostMayServeAnOrganisationOfWhichNothingIsUnderWay) {  // N9
  add_work = [&] { add(channel("ops"), 1); };
  start();
  ASSERT_TRUE(has(1));
  clock.pass(Seconds(5));
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(store->served().size(), 1u) << "one is under way";
  settle(jobs());
  EXPECT_TRUE(eventually([&] {
    clock.pass(Millis(100));
    signal.walk();
    return store->served().empty();
  }));
}

// No other host would confirm it.
TEST_F(Claiming, AChannelThatOnlyThisHostCannotReachIsLeftToOthersForAWhile) {  // T13
  RouteId ops{};
  add_work = [&] {
    ops = channel("ops");
    add(ops, 1);
    add(channel("ops", {2}), 1, "theirs-");
  };
  settings.poll = Millis(100);
  start();
  ASSERT_TRUE(has(2));
  answers.note(std::vector<Finished>{testing::ended_at(testing::unreachable(), clock.now(), "channel:ops")});
  store->finds_alone({kDefaultOrg, "channel:ops", store->now()});
  ASSERT_TRUE(eventually([&] {
    clock.pass(Millis(100));
    signal.walk();
    return log.count("claim.channels_handed_over") == 1;
  }));
  add(ops, 1, "later-");
  for (const auto& job : jobs())
    if (job.org == kDefaultOrg) settle({job});
  const auto left = [&] {
    clock.pass(Millis(100));
    signal.walk();
    return !store->served().contains(kDefaultOrg);
  };
  EXPECT_TRUE(eventually(left));
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(jobs().size(), 2u);
  EXPECT_EQ(store->served(), (std::set<OrgId>{{2}})) << "that organisation has nothing to do with it";
  EXPECT_TRUE(eventually([&] {
    clock.pass(Millis(500));
    signal.walk();
    return jobs().size() == 3;
  })) << "nobody took it";
  EXPECT_EQ(log.count("claim.channels_handed_over"), 1u) << "once for each finding";
}

TEST_F(Claiming, AHostThatReachesOthersKeepsItsChannels) {  // T13
  add_work = [&] { add(channel("ops"), 1); };
  settings.poll = Millis(100);
  start();
  ASSERT_TRUE(has(1));
  answers.note(std::vector<Finished>{testing::ended_at(testing::unreachable(), clock.now(), "channel:ops"),
                                     testing::ended_at(testing::accepted(), clock.now() + Seconds(1), "sms.a")});
  store->finds_alone({kDefaultOrg, "channel:ops", store->now()});
  clock.pass(Seconds(1));
  ASSERT_TRUE(looked_again());
  EXPECT_EQ(log.count("claim.channels_handed_over"), 0u);
  EXPECT_EQ(store->served().size(), 1u);
}

TEST_F(Claiming, AfterAFailureNoWalkIsNeededToTryAgain) {  // E10
  settings.poll = Millis(1);
  RouteId rated;
  add_work = [&] {
    rated = rated_route();
    store->permit(3);
    store->during_walk([this] { clock.pass(Seconds(1)); });  // after the second one, the next is twenty seconds away
  };
  start();
  ASSERT_TRUE(eventually([&] {
    clock.pass(Millis(1));
    return store->calls("due_routes") == 2;
  }));
  store->fail_once("take_permits");
  add(rated, 3);
  signal.walk();
  EXPECT_TRUE(eventually([&] {
    clock.pass(Millis(1));
    return jobs().size() == 3;
  }));
  EXPECT_EQ(log.count("claim.permits_unavailable"), 1u);
  EXPECT_EQ(store->calls("due_routes"), 3u);
}

// T4
TEST_F(Claiming, ALockOnARateOrAProbeHoldsUpWhatHasOneOnly) {
  settings.poll = std::chrono::hours(1);
  add_work = [&] {
    const auto down = route("sms.down");
    const std::vector<Cooldown> over{
        {kDefaultOrg, "sms.down", store->now() - Seconds(1), "http_503", store->now() - Seconds(60)}};
    ASSERT_TRUE(store->cool_down(over));
    store->permit(9);
    for (const auto* call : {"take_permits", "begin_probes"}) store->fail_once(call);
    add(rated_route(), 2, "rated-");
    add(down, 2, "down-");
    add(route("sms.primary"), 1);
  };
  start();
  ASSERT_TRUE(has(1)) << "without another walk";
  EXPECT_EQ(jobs()[0].contract->target, "sms.primary");
  EXPECT_EQ(log.count("claim.permits_unavailable") + log.count("claim.probes_unavailable"), 2u);
  EXPECT_EQ(log.count("claim.database_unavailable"), 0u);
  clock.pass(std::chrono::hours(1));
  EXPECT_TRUE(has(4)) << "the rest a poll later: two of the rate, one probe";
}

TEST_F(Claiming, OneSlowWalkDoesNotPutOffTheNext) {  // E10
  settings.poll = Millis(1);
  RouteId primary;
  add_work = [&] {
    primary = route("sms.primary");
    store->during_walk([this, walks = 0]() mutable { clock.pass(++walks == 1 ? Seconds(100) : Seconds(0)); });
  };
  start();
  ASSERT_TRUE(eventually([&] { return store->calls("due_routes") == 1; }));
  add(primary, 1);  // another host's: nobody tells this one
  EXPECT_TRUE(eventually([&] {
    clock.pass(Millis(1));
    return jobs().size() == 1;
  })) << "twenty times as long are 2,000 s";
}

TEST_F(Claiming, WhatIsDeniedMakesRoomForOthersAtOnce) {  // E14
  settings.poll = std::chrono::hours(1);
  limits.per_org = 1;
  add_work = [&] {
    add(rated_route(), 1, "rated-");
    add(route("sms.primary"), 1);
  };
  start();
  ASSERT_TRUE(has(1)) << "without a walk";
  EXPECT_EQ(store->calls("take_permits"), 1u) << "the other one was denied first";
  EXPECT_EQ(store->calls("due_routes"), 1u);
  EXPECT_EQ(jobs()[0].contract->target, "sms.primary");
}

TEST_F(Claiming, WhatItsHostHasNoRoomForComesWithoutItsBodyAndIsNotAttempted) {  // E12
  limits.in_flight_bytes = 40'000;
  RouteId primary;
  add_work = [&] { primary = route("sms.primary"); };
  start();
  ASSERT_TRUE(looked_again());
  const std::vector<NewSubmission> items{big(primary, "a", 30'000), big(primary, "b", 30'000)};
  ASSERT_TRUE(store->intake()->submit(0, items, std::nullopt));
  signal.walk();
  ASSERT_TRUE(has(2));
  EXPECT_FALSE(jobs()[0].withheld);
  EXPECT_TRUE(jobs()[1].withheld);
  EXPECT_TRUE(jobs()[1].payload.empty());
}

TEST_F(Claiming, AFirstClaimThatNobodySawIsGivenBackAndTakenAgain) {  // M12 M17
  start();
  ASSERT_TRUE(looked_again());
  const auto contract = std::make_shared<const Contract>(
      Contract{.target = "sms.primary", .action_type = "sms", .url = "http://h/", .destination = "{}"});
  const RouteId to = store->add_route(kDefaultOrg, *contract);
  const std::vector<InsertGroup> all{{kDefaultOrg, to, contract, 1}};
  const auto claim = claim_on_insert->ask(0, all);
  ASSERT_TRUE(claim) << "the claimer has told how the queue stands";
  const std::vector<NewSubmission> items{
      {.org = kDefaultOrg, .kind = "intent", .client_ref = "a", .target = "sms.primary", .route = to}};
  ASSERT_TRUE(store->intake()->submit(0, items, *claim));
  claim_on_insert->unconfirmed(0, *claim, all);
  signal.walk();
  ASSERT_TRUE(has(1));
  EXPECT_EQ(store->calls("give_back"), 1u);
  EXPECT_NE(jobs()[0].token, claim->token);
  EXPECT_EQ(jobs()[0].attempt(), 1u) << "nothing counts";
}

}  // namespace
}  // namespace waybill
