// What `waybill doctor` asks of tables and work: by statistics and indexes, whatever there is.  O4
#include "contract/store_world.h"
#include "store/operations/queue_health.h"
#include "store/operations/table_health.h"
#include "support/eventually.h"

namespace waybill::testing {
namespace {

class HealthContract : public StoreWorld {
 protected:
  void SetUp() override {
    StoreWorld::SetUp();
    auto opened = Connection::open(address, "doctor");
    ASSERT_TRUE(opened) << opened.error().what;
    session = std::make_unique<Connection>(std::move(*opened));
  }
  std::optional<TableBehind> behind(const std::string& name) {
    const auto all = tables_behind(*session);
    EXPECT_TRUE(all) << all.error().what;
    for (const auto& table : *all)
      if (table.name == name) return table;
    return std::nullopt;
  }

  std::unique_ptr<Connection> session;
};

// O4
TEST_F(HealthContract, TablesWithMoreDeadRowsThanAutovacuumWaitsForAreListed) {
  EXPECT_FALSE(behind("claims"));
  sql.execute("INSERT INTO claims SELECT 0, n, 1, now(), '{}' FROM generate_series(1, 1500) n");
  sql.execute("DELETE FROM claims");
  sql.rows("SELECT pg_stat_force_next_flush()");
  ASSERT_TRUE(eventually([&] { return behind("claims").has_value(); }));
  const auto claims = *behind("claims");
  EXPECT_EQ(claims.dead, 1500);
  EXPECT_EQ(claims.awaited, 1000) << "as the table has it, not the server";
  EXPECT_FALSE(claims.is_left_alone);
  sql.execute("VACUUM claims");
  ASSERT_TRUE(eventually([&] { return !behind("claims"); }));
  sql.execute("ALTER TABLE claims SET (autovacuum_enabled = off)");
  ASSERT_TRUE(behind("claims"));
  EXPECT_TRUE(behind("claims")->is_left_alone);
}

// O4
TEST_F(HealthContract, LargeIndexesThatNothingUsesAreListed) {
  const auto unused = [&](std::int64_t bytes, Millis age) {
    const auto all = odd_indexes(*session, bytes, age);
    EXPECT_TRUE(all) << all.error().what;
    return std::any_of(all->begin(), all->end(), [](const OddIndex& index) { return index.name == "nobodys" && index.is_valid; });
  };
  submit_many(500);
  sql.execute("CREATE INDEX nobodys ON submissions (client_ref, kind, pipeline, target, state, payload_hash)");  // the largest
  EXPECT_TRUE(unused(0, Millis{0}));
  EXPECT_FALSE(unused(std::int64_t{1} << 30, Millis{0}));
  EXPECT_FALSE(unused(0, std::chrono::hours(24))) << "the statistics are not that old";
  sql.execute("DROP INDEX nobodys");
  sql.execute("CREATE UNIQUE INDEX nobodys ON submissions (shard, id, target)");
  EXPECT_FALSE(unused(0, Millis{0})) << "it keeps something unique";
}

// O4
TEST_F(HealthContract, WhatWaitsForATargetIsCounted) {
  submit_many(3, "a-", "sms.a");
  submit_many(2, "b-", "sms.b");
  sql.execute(
      "INSERT INTO target_outages (org_id, target, until, reason, since) VALUES (1, 'sms.a', now() + interval '1 hour', 'busy', "
      "now() - "
      "interval '1 minute'), (1, 'sms.b', now() - interval '1 hour', 'over', now())");
  const auto cooling = cooling_targets(*session);
  ASSERT_TRUE(cooling) << cooling.error().what;
  ASSERT_EQ(cooling->size(), 1u);
  EXPECT_EQ(cooling->front().target, "sms.a");
  EXPECT_EQ(cooling->front().org, "default");
  EXPECT_EQ(cooling->front().waiting, 3);
  EXPECT_GE(cooling->front().began_ago, Seconds{60});
}

// Nothing that grows is read through: neither the queue nor what is over. All of the queue has one status, as in a backlog: the
// planner may not look at the statistics of a table with policies, and takes a share of its statuses for granted.  O4
TEST_F(HealthContract, NoQuestionReadsALargeTable) {
  submit_many(2000, "a-", "sms.a");
  sql.execute(
      "INSERT INTO dead_letters (shard, id, org_id, submission_id, kind, client_ref, target, action_order, action_type, reason, "
      "died_at, "
      "replayed_at) SELECT 0, n, 1, n, 'form', 'r-' || n, 'contact', 1, 'email_raw', 'rejected', now(), CASE WHEN n > 2 THEN "
      "now() END "
      "FROM generate_series(1, 5000) n");
  sql.execute(
      "INSERT INTO target_outages (org_id, target, until, reason) VALUES (1, 'sms.a', now() + interval '1 hour', 'busy')");
  sql.execute("VACUUM ANALYZE");
  const auto read = [&] {
    sql.rows("SELECT pg_stat_force_next_flush()");
    return sql.number(
        "SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0) FROM pg_stat_user_tables WHERE schemaname = 'waybill' AND relname "
        "IN "
        "('ready', 'submissions', 'deliveries', 'dead_letters') OR relname LIKE 'attempts_%' OR relname LIKE 'audit_log_%'");
  };
  ASSERT_TRUE(
      eventually([&] { return sql.number("SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 'ready'") == 2000; }));
  const auto before = read();
  const auto work = waiting_work(*session);
  ASSERT_TRUE(work) << work.error().what;
  EXPECT_EQ(work->dead_letters, 2);
  EXPECT_TRUE(work->oldest_due.contains("sms"));
  EXPECT_TRUE(registered_hosts(*session) && lone_findings(*session) && open_incidents(*session) && tables_behind(*session) &&
              queue_size(*session) && months_of_logs(*session) && ending_tokens(*session, Millis{0}) &&
              odd_indexes(*session, 0, Millis{0}));
  const auto cooling = cooling_targets(*session);
  ASSERT_TRUE(cooling) << cooling.error().what;
  EXPECT_EQ(cooling->front().waiting, kMaxWaitingCounted);
  session.reset();  // its counts are in the statistics then
  const auto mine = [&] { return sql.number("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waybill-doctor'"); };
  ASSERT_TRUE(eventually([&] { return mine() == 0; }));
  EXPECT_LE(read() - before, kMaxWaitingCounted + 50) << "the counted ones, and a probe here and there";
}

}  // namespace
}  // namespace waybill::testing
