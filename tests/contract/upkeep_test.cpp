// Hosts that live, hosts that die, and what they leave behind.  M12 M17 M18
#include "upkeep/upkeep.h"

#include <algorithm>

#include "contract/store_world.h"
#include "support/eventually.h"
#include "support/stage_tools.h"

namespace waybill::testing {
namespace {

class UpkeepContract : public StoreWorld {
 protected:
  // Ends the session that holds a host's advisory lock, as its machine's death would.
  void kill(HostId host) {
    const auto of =
        " FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = "
        "current_database()) "
        "AND objid = " +
        std::to_string(host.value);
    sql.rows("SELECT pg_terminate_backend(pid)" + of);
    ASSERT_TRUE(eventually([&] { return sql.number("SELECT count(*)" + of) == 0; }));
  }
  std::vector<HostId> dead(HostId self) { return upkeep->dead_hosts(self).value_or(std::vector<HostId>{{-1}}); }
};

TEST_F(UpkeepContract, ALivingHostIsNotDead) {  // M18
  Presence first(address, "box:1"), second(address, "box:2");
  const auto a = first.keep(), b = second.keep();
  ASSERT_TRUE(a) << a.error().what;
  ASSERT_TRUE(b);
  EXPECT_NE(*a, *b);
  EXPECT_EQ(*first.keep(), *a) << "it keeps its id";
  EXPECT_TRUE(dead(*a).empty());
  const auto hosts = reader->hosts();
  ASSERT_EQ(hosts->size(), 2u);
  EXPECT_EQ((*hosts)[0].id, *a);
  EXPECT_EQ((*hosts)[0].name, "box:1");
}

TEST_F(UpkeepContract, ADeadHostIsFoundByOneOnlyUntilItIsBuried) {  // M18
  Presence first(address, "box:1"), second(address, "box:2");
  const HostId a = *first.keep(), b = *second.keep();
  kill(a);
  EXPECT_EQ(dead(b), std::vector<HostId>{a});
  const auto another = make_upkeep_store(address);
  EXPECT_TRUE(another->dead_hosts(b)->empty()) << "it is looked after already";
  ASSERT_TRUE(upkeep->bury(a));
  EXPECT_TRUE(dead(b).empty());
  EXPECT_TRUE(another->dead_hosts(b)->empty());
  EXPECT_EQ(reader->hosts()->size(), 1u);
}

TEST_F(UpkeepContract, AHostThatDiesWhileItBuriesLeavesTheDeadToOthers) {  // M18
  Presence first(address, "box:1"), second(address, "box:2");
  const HostId a = *first.keep(), b = *second.keep();
  kill(a);
  EXPECT_EQ(dead(b), std::vector<HostId>{a});
  upkeep.reset();
  const auto another = make_upkeep_store(address);
  EXPECT_TRUE(eventually([&] { return *another->dead_hosts(b) == std::vector<HostId>{a}; }));
}

TEST_F(UpkeepContract, AHostThatLostItsSessionIsWhoItWasUnlessItWasBuried) {  // M18
  Presence first(address, "box:1"), second(address, "box:2");
  const HostId a = *first.keep(), b = *second.keep();
  kill(a);
  std::optional<HostId> back;
  ASSERT_TRUE(eventually([&] {
    if (const auto id = first.keep()) back = *id;
    return back.has_value();
  }));
  EXPECT_EQ(*back, a);
  EXPECT_TRUE(dead(b).empty());
  kill(a);
  EXPECT_EQ(dead(b), std::vector<HostId>{a});
  ASSERT_TRUE(upkeep->bury(a));
  ASSERT_TRUE(eventually([&] {
    if (const auto id = first.keep()) back = *id;
    return *back != a;
  }));
  EXPECT_EQ(reader->hosts()->size(), 2u);
  EXPECT_TRUE(dead(b).empty());
}

TEST_F(UpkeepContract, AHostWhoseLockASweeperHoldsComesBackUnderAnotherName) {  // M18
  Presence first(address, "box:1"), second(address, "box:2");
  const HostId a = *first.keep(), b = *second.keep();
  kill(a);
  EXPECT_EQ(dead(b), std::vector<HostId>{a});
  std::optional<HostId> back;
  ASSERT_TRUE(eventually([&] {
    if (const auto id = first.keep()) back = *id;
    return back.has_value();
  }));
  EXPECT_NE(*back, a);
}

TEST_F(UpkeepContract, AnOrderlyEndLeavesNobodyToBury) {
  Presence first(address, "box:1"), second(address, "box:2");
  first.keep();
  const HostId b = *second.keep();
  first.leave();
  EXPECT_TRUE(dead(b).empty());
  EXPECT_EQ(reader->hosts()->size(), 1u);
}

TEST_F(UpkeepContract, TheClaimsOfAHostAreFoundByItsId) {  // M17 M18
  submit_many(5);
  claim(route(), 2, {11}, {7});
  const auto mine = claim(route(), 1, {12}, {8});
  sql.execute("UPDATE ready SET attempt_count = 3, lease_lost = 1, queued = false WHERE claimed_by = 8");
  const auto lost = upkeep->lost_claims(0, HostId{8}, 100);
  ASSERT_TRUE(lost) << lost.error().what;
  ASSERT_EQ(lost->claims.size(), 1u);
  const auto& one = lost->claims[0];
  EXPECT_EQ(one.delivery, mine.rows[0].delivery);
  EXPECT_EQ(one.token, ClaimToken{12});
  EXPECT_EQ(one.org, kDefaultOrg);
  EXPECT_EQ(one.route, route());
  EXPECT_EQ(one.host, HostId{8});
  EXPECT_EQ(one.claimed_at, mine.now);
  EXPECT_EQ(one.created, mine.rows[0].created);
  EXPECT_EQ(one.kind, "intent");
  EXPECT_EQ(one.client_ref, "ref-2");
  EXPECT_EQ(one.attempt_count, 3u);
  EXPECT_EQ(one.lease_lost, 1u);
  EXPECT_GE(lost->now, mine.now);
  EXPECT_EQ(upkeep->lost_claims(0, HostId{7}, 100)->claims.size(), 2u);
  EXPECT_EQ(upkeep->lost_claims(0, HostId{7}, 1)->claims.size(), 1u) << "at most so many";
  EXPECT_TRUE(upkeep->lost_claims(1, HostId{7}, 100)->claims.empty()) << "of that shard only";
}

TEST_F(UpkeepContract, AClaimIsLostWhenItsLeaseRanOutOrItsHostIsGone) {  // M17 M18
  Presence presence(address, "box:1");
  const HostId alive = *presence.keep();
  submit_many(3);
  claim(route(), 1, {1}, alive);
  EXPECT_TRUE(upkeep->lost_claims(0, {}, 100)->claims.empty());
  claim(route(), 1, {2}, {12345});  // committed after that host was buried
  auto lost = upkeep->lost_claims(0, {}, 100);
  ASSERT_EQ(lost->claims.size(), 1u);
  EXPECT_EQ(lost->claims[0].host, HostId{12345});
  sql.execute("UPDATE claims SET lease_until = now() - interval '1 second' WHERE token = 1");
  EXPECT_EQ(upkeep->lost_claims(0, {}, 100)->claims.size(), 2u);
}

TEST_F(UpkeepContract, TheQueuesNumbersAreByStatusAndTheOldestDueIsAnAge) {  // M14
  auto state = upkeep->queue_state();
  ASSERT_TRUE(state) << state.error().what;
  EXPECT_TRUE(state->by_status.empty());
  EXPECT_FALSE(state->oldest_due);
  submit_many(5, "a-", "sms.a");
  submit_many(2, "b-", "sms.b");
  claim(route("sms.a"), 2);
  sql.execute("UPDATE ready SET due_at = now() - interval '90 seconds' WHERE route_id = " + std::to_string(route("sms.b").value));
  state = upkeep->queue_state();
  EXPECT_EQ(state->by_status, (std::map<std::string, std::uint64_t>{{"due", 5}, {"claimed", 2}}));
  ASSERT_TRUE(state->oldest_due);
  EXPECT_GE(*state->oldest_due, Seconds(90));
  EXPECT_LT(*state->oldest_due, Seconds(90) + std::chrono::minutes(30));
  sql.execute("UPDATE ready SET due_at = now() + interval '1 hour'");
  EXPECT_FALSE(upkeep->queue_state()->oldest_due) << "what is due later has no age";
}

TEST_F(UpkeepContract, PartitionsAreMadeOnceAndTakeTheRows) {
  const auto count = [&] {
    return sql.number("SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent WHERE c.relname = 'attempts'");
  };
  const auto before = count();
  EXPECT_GE(before, 4) << "this month, two ahead, and the default one";
  ASSERT_TRUE(upkeep->make_partitions());
  ASSERT_TRUE(upkeep->make_partitions());
  EXPECT_EQ(count(), before);
  EXPECT_EQ(sql.number("SELECT make_partitions(3)"), 2) << "one month more, of attempts and of the audit log";
  EXPECT_EQ(count(), before + 1);
  submit({item("a")});
  settled({ending(claim(route(), 1).rows.at(0), {1}, Status::accepted)});
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts_default"), 0);
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts"), 1);
}

// ---- the stories of Upkeep itself ----

class UpkeepStory : public UpkeepContract {
 protected:
  void start() {
    running = std::make_unique<Upkeep>(
        presence, *upkeep, *queue, *settle, chores, clock, UpkeepSettings{.shards = 1, .actor = "box:1", .takeover = Millis(5)},
        [this] { ++woken; }, log, metrics);
  }
  bool metrics_say(const std::string& line) { return metrics.text().find(line) != std::string::npos; }

  SystemClock clock;
  KeptLog log;
  Metrics metrics;
  Presence presence{address, "box:1"};
  std::vector<Chore> chores;
  std::atomic<int> woken{0};
  std::unique_ptr<Upkeep> running;
};

TEST_F(UpkeepStory, TakesBackWhatADeadHostHeldAndBuriesIt) {  // M17 M18
  Presence other(address, "box:2");
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
  ASSERT_TRUE(eventually([&] { return running->is_up(); }));
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE status = 'claimed'"), 2) << "its host lives";
  kill(doomed);
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

TEST_F(UpkeepStory, AChoreThatFailsStopsNoOtherAndIsTriedAgain) {
  std::atomic<int> failing{0}, others{0};
  chores = {{"failing", Millis(1), [&]() -> Result<void> { return ++failing, fail(Error::Kind::bug, "on purpose"); }},
            {"other", Millis(1), [&]() -> Result<void> { return ++others, Result<void>{}; }}};
  start();
  EXPECT_TRUE(eventually([&] { return failing > 2 && others > 2; }));
  running->stop();
  EXPECT_EQ(log.count("upkeep.failed"), static_cast<std::size_t>(failing));
}

TEST_F(UpkeepStory, AChoreIsNotDoneBeforeItIsDue) {
  std::atomic<int> rare{0}, often{0};
  chores = {{"rare", std::chrono::hours(1), [&]() -> Result<void> { return ++rare, Result<void>{}; }},
            {"often", Millis(1), [&]() -> Result<void> { return ++often, Result<void>{}; }}};
  start();
  EXPECT_TRUE(eventually([&] { return often > 5; }));
  running->stop();  // the chores use what goes with this test
  EXPECT_EQ(rare, 1);
}

TEST_F(UpkeepStory, HasNoHostIdWithoutADatabase) {  // M18
  Presence nowhere({"postgresql://nobody@/nowhere?host=/nonexistent", "waybill"}, "box:9");
  {
    Upkeep blind(
        nowhere, *upkeep, *queue, *settle, std::vector<Chore>{}, clock, {.shards = 1, .actor = "box:9", .takeover = Millis(1)},
        [] {}, log, metrics);
    EXPECT_FALSE(blind.host());
    EXPECT_FALSE(blind.is_up());
  }
  EXPECT_TRUE(metrics_say("submission_database_up 0"));
}

TEST_F(UpkeepStory, AnOrderlyStopLeavesTheHostsTable) {
  start();
  ASSERT_TRUE(eventually([&] { return running->is_up(); }));
  EXPECT_EQ(sql.text("SELECT name FROM hosts"), "box:1");
  running->stop();
  EXPECT_FALSE(running->is_up());
  EXPECT_EQ(sql.number("SELECT count(*) FROM hosts"), 0);
}

}  // namespace
}  // namespace waybill::testing
