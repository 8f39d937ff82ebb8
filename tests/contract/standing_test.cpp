// What waits in the whole installation, and what `waybill check --online` asks of a server.
#include <algorithm>

#include "contract/store_world.h"
#include "store/operations/database_check.h"
#include "store/operations/monitor_store.h"

namespace waybill::testing {
namespace {

class StandingContract : public StoreWorld {
 protected:
  Standing look() {
    auto standing = make_monitor_store(address, 1)->standing();
    EXPECT_TRUE(standing) << standing.error().what;
    return standing.value_or(Standing{});
  }
  std::uint64_t of(const char* pipeline, const char* state) { return look().unfinished[{pipeline, state}]; }
};

TEST_F(StandingContract, CountsWhatWaitsAndNotWhatIsOver) {  // D13
  EXPECT_EQ(look().dead_letters, 0u);
  EXPECT_EQ(of("intent", "pending"), 0u);
  submit_many(3, "a-", "sms.a");
  EXPECT_EQ(of("intent", "pending"), 3u);
  EXPECT_EQ(of("form", "received"), 0u);
  sql.execute(
      "INSERT INTO dead_letters (shard, id, org_id, submission_id, kind, client_ref, target, action_order, action_type, reason, "
      "died_at, "
      "replayed_at) SELECT 0, n, 1, n, 'form', 'r-' || n, 'contact', 1, 'email_raw', 'rejected', now(), CASE WHEN n > 2 THEN "
      "now() END "
      "FROM generate_series(1, 5) n");
  sql.execute(
      "INSERT INTO target_outages (org_id, target, until, reason) VALUES (1, 'sms.a', now() + interval '1 minute', 'busy'), "
      "(1, 'sms.b', now() - interval '1 minute', 'busy')");
  EXPECT_EQ(look().dead_letters, 2u);
  EXPECT_EQ(look().cooling_targets, 1u);
}

// The counts must not read the history: each is an index of what waits.
TEST_F(StandingContract, ALongHistoryIsNotRead) {  // D13
  sql.execute(
      "INSERT INTO dead_letters (shard, id, org_id, submission_id, kind, client_ref, target, action_order, action_type, reason, "
      "died_at, "
      "replayed_at) SELECT 0, n, 1, n, 'form', 'r-' || n, 'contact', 1, 'email_raw', 'rejected', now(), now() "
      "FROM generate_series(1, 20000) n");
  sql.execute("VACUUM ANALYZE dead_letters");
  sql.rows("SELECT pg_stat_reset()");
  const auto plan =
      sql.rows("EXPLAIN SELECT count(*) FROM (SELECT FROM dead_letters WHERE replayed_at IS NULL LIMIT 100000) AS counted");
  std::string text;
  for (const auto& row : plan) text += *row[0] + "\n";
  EXPECT_NE(text.find("dead_letters_waiting"), std::string::npos) << text;
  EXPECT_EQ(look().dead_letters, 0u);
}

// O3 T25
TEST_F(StandingContract, WhatIsOpenForLongerThanTheObjectiveIsOverdue) {
  const auto monitor = make_monitor_store(address, 1);
  const auto overdue = [&] { return monitor->overdue(Seconds(60), 10).value(); };
  submit_many(5, "a-", "sms.a");
  submit_many(3, "b-", "sms.b");
  EXPECT_TRUE(overdue().empty()) << "all of them are young";
  sql.execute(
      "UPDATE ready SET due_at = now() - interval '61 seconds' WHERE delivery_id IN (SELECT id FROM submissions WHERE client_ref "
      "< 'a-3')");
  EXPECT_EQ(overdue(), (std::vector<OverdueDeliveries>{{"default", "sms.a", 3}})) << "due since then";
  sql.execute("ALTER TABLE submissions DISABLE TRIGGER USER");
  sql.execute("UPDATE submissions SET created_at = now() - interval '61 seconds' WHERE client_ref IN ('b-1', 'a-0')");
  sql.execute(
      "UPDATE ready SET due_at = now() + interval '1 hour' WHERE delivery_id IN (SELECT id FROM submissions WHERE client_ref = "
      "'b-1')");
  EXPECT_EQ(overdue(), (std::vector<OverdueDeliveries>{{"default", "sms.a", 3}, {"default", "sms.b", 1}})) << "waits for a retry";
  EXPECT_EQ(monitor->overdue(Seconds(60), 1).value().size(), 1u);
  sql.execute(
      "UPDATE contract_snapshots SET contract = jsonb_set(contract::jsonb, '{channel}', '\"c\"')::text WHERE contract LIKE "
      "'%sms.a%'");
  EXPECT_EQ(overdue(), (std::vector<OverdueDeliveries>{{"default", "sms.b", 1}})) << "channels are held back on purpose";
  sql.execute(
      "UPDATE contract_snapshots SET contract = jsonb_set(contract::jsonb, '{form}', '{\"id\":\"contact\",\"name\":\"\"}')::text "
      "WHERE contract LIKE '%sms.b%'");
  EXPECT_EQ(overdue(), (std::vector<OverdueDeliveries>{{"default", "form:contact", 1}}));
  const auto names = monitor->names_of({kDefaultOrg, OrgId{77}}).value();
  EXPECT_EQ(names, (std::map<OrgId, std::string>{{kDefaultOrg, "default"}}));
}

TEST_F(StandingContract, TheServersRoomAndItsOldTransactionsAreSeen) {  // D11
  auto facts = server_facts(owner, std::chrono::minutes(10));
  ASSERT_TRUE(facts) << facts.error().what;
  EXPECT_EQ(facts->connections, sql.number("SELECT current_setting('max_connections')::int - "
                                           "current_setting('superuser_reserved_connections')::int"));
  EXPECT_EQ(facts->limited_by, "max_connections");
  EXPECT_FALSE(facts->role.empty());
  EXPECT_TRUE(facts->old_transactions.empty());
  SqlClient other(url);
  other.execute("BEGIN");
  other.rows("SELECT 1");
  facts = server_facts(owner, Millis{0});
  EXPECT_EQ(std::count_if(facts->old_transactions.begin(), facts->old_transactions.end(),
                          [](const auto& one) { return one.who.find("idle in transaction") != std::string::npos; }),
            1)
      << "beside it, autovacuum may be at work";
  other.execute("ROLLBACK");
}

}  // namespace
}  // namespace waybill::testing
