// The queue's numbers, and the three threads that keep a host going.  M12 M14 M18
#include "maintenance/maintenance.h"

#include <future>

#include "contract/hosts_world.h"
#include "support/call_builders.h"

namespace waybill::testing {
namespace {

using UpkeepContract = HostsWorld;

TEST_F(UpkeepContract, TheQueuesNumbersAreByStatusAndTheOldestDueIsAnAge) {  // M14
  auto state = maintenance->queue_state();
  ASSERT_TRUE(state) << state.error().what;
  EXPECT_TRUE(state->by_status.empty());
  EXPECT_FALSE(state->oldest_due);
  submit_many(5, "a-", "sms.a");
  submit_many(2, "b-", "sms.b");
  claim(route("sms.a"), 2);
  sql.execute("UPDATE ready SET due_at = now() - interval '90 seconds' WHERE route_id = " + std::to_string(route("sms.b").value));
  state = maintenance->queue_state();
  EXPECT_EQ(state->by_status, (std::map<std::string, std::uint64_t>{{"due", 5}, {"claimed", 2}}));
  ASSERT_TRUE(state->oldest_due);
  EXPECT_GE(*state->oldest_due, Seconds(90));
  EXPECT_LT(*state->oldest_due, Seconds(90) + std::chrono::minutes(30));
  sql.execute("UPDATE ready SET due_at = now() + interval '1 hour'");
  EXPECT_FALSE(maintenance->queue_state()->oldest_due) << "what is due later has no age";
  // T30
  EXPECT_EQ(maintenance->queue_state()->by_status, (std::map<std::string, std::uint64_t>{{"scheduled", 5}, {"claimed", 2}}))
      << "and is not due";
}

// T15
TEST_F(UpkeepContract, ATryToStoreLeavesNothingAndMeetsWhatAClientsWouldMeet) {
  const auto tried = maintenance->try_to_store();
  ASSERT_TRUE(tried) << tried.error().what;
  EXPECT_EQ(sql.number("SELECT count(*) FROM submissions"), 0);
  sql.execute(
      "CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS "
      "$$BEGIN RAISE 'No space left on device' USING ERRCODE = '53100'; END$$");
  sql.execute("CREATE TRIGGER disk_is_full BEFORE INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION disk_is_full()");
  const auto full = maintenance->try_to_store();
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, Error::Kind::unavailable);
  EXPECT_TRUE(full.error().what.ends_with("[53100]")) << full.error().what;
  sql.execute("DROP TRIGGER disk_is_full ON submissions");
  for (const char* table : {"attachments", "alert_events", "pipeline_steps"}) {
    SqlClient somebody(url);
    somebody.execute(std::string("BEGIN; LOCK TABLE waybill.") + table + " IN SHARE MODE");
    EXPECT_FALSE(maintenance->try_to_store()) << table;
  }
  EXPECT_TRUE(maintenance->try_to_store());
}

// T30
TEST_F(UpkeepContract, WhatAHostSaysOfItselfGoesWithIt) {
  ASSERT_TRUE(maintenance->tell({4711}, R"({"draining":true})")) << "of nobody";
  EXPECT_EQ(sql.number("SELECT count(*) FROM host_facts"), 0);
  sql.execute("INSERT INTO hosts (name, knows) VALUES ('box:1', 37)");
  const HostId us{sql.number("SELECT min(host_id) FROM hosts")};
  ASSERT_TRUE(maintenance->tell(us, R"({"draining":false})"));
  const auto version = sql.text("SELECT xmin::text FROM hosts WHERE host_id = " + std::to_string(us.value));
  ASSERT_TRUE(maintenance->tell(us, R"({"draining":true})"));
  EXPECT_EQ(sql.text("SELECT facts ->> 'draining' FROM host_facts"), "true");
  EXPECT_EQ(sql.text("SELECT xmin::text FROM hosts WHERE host_id = " + std::to_string(us.value)), version)
      << "a new version of a host's row is a sign of life";
  ASSERT_TRUE(maintenance->forget_outages(std::chrono::hours(24)));
  EXPECT_EQ(sql.number("SELECT count(*) FROM host_facts"), 1);
  sql.execute("DELETE FROM hosts WHERE host_id = " + std::to_string(us.value));
  ASSERT_TRUE(maintenance->forget_outages(std::chrono::hours(24)));
  EXPECT_EQ(sql.number("SELECT count(*) FROM host_facts"), 0);
}

// Rows are made by SQL, not claimed, so that there can be many.
TEST_F(UpkeepContract, ALongQueueIsCountedInBoundedTime) {  // E13
  const auto make = [&](std::int64_t from, std::int64_t count, const std::string& status) {
    sql.execute(
        "INSERT INTO ready (shard, action_order, org_id, delivery_id, submission_id, due_at, route_id, status, queued) SELECT 0, "
        "1, 1, " +
        std::to_string(from) + " + n, " + std::to_string(from) + " + n, now(), " + std::to_string(route().value) + ", '" +
        status + "', '" + status + "' = 'due' FROM generate_series(1, " + std::to_string(count) + ") n");
  };
  make(0, 350'000, "due");
  make(1'000'000, 50'000, "waiting");
  ASSERT_GT(sql.number("SELECT pg_relation_size('ready')"), 64 << 20) << "more than is counted one by one";
  auto state = maintenance->queue_state();
  ASSERT_TRUE(state) << state.error().what;
  EXPECT_GT(state->by_status["due"], 200'000u);
  EXPECT_LT(state->by_status["due"], 500'000u);
  EXPECT_LT(state->by_status["waiting"], 100'000u);
  EXPECT_EQ(state->by_status["claimed"], 0u);
  sql.execute("DELETE FROM ready WHERE delivery_id NOT IN (1, 2, 3)");  // the table stays as large as it was
  claim(route(), 1);
  state = maintenance->queue_state();
  EXPECT_EQ(state->by_status["due"], 2u) << "few are counted exactly, however large the table";
  EXPECT_EQ(state->by_status["claimed"], 1u);
}

// J7 P6
TEST_F(UpkeepContract, TheQueuesStateByActionTypeHasDepthAgeAndFailureRate) {
  const auto monitor = make_monitor_store(address, 1);
  EXPECT_TRUE(monitor->types()->by_type.empty());
  submit_many(6, "a-", "sms.a");
  sql.execute("UPDATE ready SET due_at = now() - interval '90 seconds'");
  const auto rows = claim(route("sms.a"), 4).rows;
  settled({ending(rows.at(0), {1}, Status::accepted), ending(rows.at(1), {1}, Status::rejected, "gone"),
           ending(rows.at(2), {1}, Status::exhausted)});
  auto states = monitor->types();
  ASSERT_TRUE(states) << states.error().what;
  ASSERT_EQ(states->by_type.size(), 1u);
  EXPECT_FALSE(states->estimated);
  const auto& sms = states->by_type.at("sms");
  EXPECT_EQ(sms.by_status, (std::map<std::string, std::uint64_t>{{"due", 2}, {"claimed", 1}}));
  EXPECT_EQ(sms.depth(), 3u);
  ASSERT_TRUE(sms.oldest_due);
  EXPECT_GE(*sms.oldest_due, Seconds(90));
  EXPECT_EQ(sms.ended, 3u);
  EXPECT_EQ(sms.failed, 2u);
  sql.execute("ALTER TABLE deliveries DISABLE TRIGGER USER; UPDATE deliveries SET ended_at = now() - interval '2 hours'");
  EXPECT_EQ(monitor->types()->by_type.at("sms").ended, 0u) << "they ended too long ago";
}

TEST_F(UpkeepContract, PartitionsAreMadeOnceAndTakeTheRows) {
  const auto count = [&] {
    return sql.number("SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent WHERE c.relname = 'attempts'");
  };
  const auto before = count();
  EXPECT_GE(before, 4) << "this month, two ahead, and the default one";
  ASSERT_TRUE(maintenance->make_partitions());
  ASSERT_TRUE(maintenance->make_partitions());
  EXPECT_EQ(count(), before);
  EXPECT_EQ(sql.number("SELECT make_partitions(3)"), 2) << "one month more, of attempts and of the audit log";
  EXPECT_EQ(count(), before + 1);
  submit({item("a")});
  settled({ending(claim(route(), 1).rows.at(0), {1}, Status::accepted)});
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts_default"), 0);
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts"), 1);
}

// ---- the stories of Maintenance itself ----

class UpkeepStory : public HostsWorld {
 protected:
  void start() {
    running = std::make_unique<Maintenance>(
        liveness, *rescue, *queue, *settle, tasks, clock,
        MaintenanceSettings{.shards = 1, .actor = "box:1", .takeover = Millis(5)},
        MaintenanceHooks{.wake = [] {}, .rescued = [] {}, .open_claims = [] { return OpenClaims{}; }}, log, metrics);
    running->start();
  }
  bool metrics_say(const std::string& line) { return metrics.text().find(line) != std::string::npos; }

  SystemClock clock;
  KeptLog log;
  Metrics metrics;
  HostLiveness liveness{address, "box:1"};
  std::vector<PeriodicTask> tasks;
  std::unique_ptr<Maintenance> running;
};

// A count over ten million rows, or a lock that a partition waits for.
TEST_F(UpkeepStory, NoTakeoverWaitsForAPeriodicTask) {  // E5 E13
  HostLiveness other(address, "box:2");
  const HostId doomed = *other.keep();
  submit({item("left")});
  claim(route(), 1, {1}, doomed);
  std::atomic<bool> waiting{false};
  std::promise<void> over;
  tasks = {{"counting", Millis(1), [&, until = over.get_future().share()]() -> Result<void> {
              waiting = true;
              until.wait();
              return {};
            }}};
  start();
  const AtEnd go_on([&] { over.set_value(); });
  ASSERT_TRUE(eventually([&] { return waiting.load(); }));
  kill(doomed);
  EXPECT_TRUE(eventually([&] { return log.count("host.died") == 1; }));
  EXPECT_EQ(sql.number("SELECT count(*) FROM claimed"), 0);
}

TEST_F(UpkeepStory, LookingEverywhereFindsClaimsThatAreMissingInTheList) {  // M18 E11
  submit({item("forgotten")});
  claim(route(), 1, {1}, {12345});
  sql.execute("DELETE FROM claims");
  tasks = {unregistered_claims(
      *maintenance, [this] { running->look_at_claims(); }, [] {}, [] { return std::uint64_t{1}; }, clock, log)};
  tasks[0].every = std::chrono::hours(1);
  start();
  ASSERT_TRUE(eventually([&] { return sql.number("SELECT count(*) FROM ready WHERE status = 'claimed'") == 0; }))
      << "at the start";
  claim(route(), 1, {2}, {12345});
  sql.execute("DELETE FROM claims");
  running->look_everywhere();
  EXPECT_TRUE(eventually([&] { return log.count("claim.was_forgotten") == 2; }));
  EXPECT_TRUE(eventually([&] { return sql.number("SELECT count(*) FROM ready WHERE status = 'claimed'") == 0; }));
}

TEST_F(UpkeepStory, ATaskThatFailsStopsNoOtherAndIsTriedAgain) {
  std::atomic<int> failing{0}, others{0};
  tasks = {{"failing", Millis(1), [&]() -> Result<void> { return ++failing, fail(Error::Kind::bug, "on purpose"); }},
           {"other", Millis(1), [&]() -> Result<void> { return ++others, Result<void>{}; }}};
  start();
  EXPECT_TRUE(eventually([&] { return failing > 2 && others > 2; }));
  running->stop();
  EXPECT_EQ(log.count("maintenance.failed"), static_cast<std::size_t>(failing));
}

TEST_F(UpkeepStory, ATaskIsNotDoneBeforeItIsDue) {
  std::atomic<int> rare{0}, often{0};
  tasks = {{"rare", std::chrono::hours(1), [&]() -> Result<void> { return ++rare, Result<void>{}; }},
           {"often", Millis(1), [&]() -> Result<void> { return ++often, Result<void>{}; }}};
  start();
  EXPECT_TRUE(eventually([&] { return often > 5; }));
  running->stop();  // the tasks use what goes with this test
  EXPECT_EQ(rare, 1);
}

TEST_F(UpkeepStory, HasNoHostIdWithoutADatabase) {  // M18
  HostLiveness nowhere({"postgresql://nobody@/nowhere?host=/nonexistent", "waybill"}, "box:9");
  {
    Maintenance blind(nowhere, *rescue, *queue, *settle, std::vector<PeriodicTask>{}, clock,
                      {.shards = 1, .actor = "box:9", .takeover = Millis(1)},
                      {.wake = [] {}, .rescued = [] {}, .open_claims = [] { return OpenClaims{}; }}, log, metrics);
    blind.start();
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
