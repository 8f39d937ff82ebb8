// How events are collected into notifications, in the database.
#include <future>

#include "contract/store_world.h"
#include "support/eventually.h"

namespace waybill::testing {
namespace {

class Windows : public StoreWorld {
 protected:
  void SetUp() override {
    StoreWorld::SetUp();
    sql.execute("INSERT INTO organisations (name) SELECT 'org-' || i FROM generate_series(2, 5) i");
    sql.execute("INSERT INTO org_keys (org_id, key_id, master, sealed) SELECT org_id, 1, 'master', '' FROM organisations");
    sql.execute("INSERT INTO alert_rules (org_id, name, status) SELECT org_id, 'critical', 'active' FROM organisations");
    sql.execute("INSERT INTO channels (org_id, shard, route_id, name, type, config, key_id, secret) SELECT org_id, 0, " +
                std::to_string(route().value) + ", 'ops', 'webhook', '{\"url\":\"http://h/\"}', 1, '' FROM organisations");
    sql.execute("INSERT INTO rule_channels SELECT org_id, rule_id, channel_id FROM alert_rules JOIN channels USING (org_id)");
  }
  void add_events(std::int64_t org, const std::string& name, int count = 1) {
    sql.execute("INSERT INTO alert_events (org_id, rule_id, event_id, snapshot, created_at) SELECT org_id, rule_id, '" + name +
                "-' || i, '{\"n\":' || i || '}', now() - interval '1 hour' FROM alert_rules, generate_series(1, " +
                std::to_string(count) + ") i WHERE org_id = " + std::to_string(org));
  }
  // As the version before does it, and with the longest window that it has since.
  static std::string fan_out(const std::string& event) {
    return "SELECT fan_out(org_id, event_no, interval '2 minutes', 1000000) FROM alert_events WHERE event_id = '" + event + "-1'";
  }
  std::int64_t wrong_bytes() {
    return sql.number("SELECT count(*) FROM notifications WHERE bytes <> octet_length(notification_body(shard, delivery_id))");
  }
};

// T5
TEST_F(Windows, AnEventThatMeetsAClaimLeavesNoTraceInWhatWasClaimed) {
  for (const auto* event : {"first", "second"}) add_events(1, event);
  sql.number(fan_out("first"));
  SqlClient claimer(url);
  claimer.execute(
      "BEGIN; UPDATE waybill.ready SET status = 'claimed', claim_token = 1, claimed_by = 1, claimed_at = now(),"
      " lease_until = now() + interval '1 hour'");
  auto second = std::async(std::launch::async, [&] {
    SqlClient other(url);
    other.execute("SET search_path TO waybill");
    return other.number(fan_out("second"));
  });
  EXPECT_TRUE(eventually([&] { return sql.number("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0; }));
  claimer.execute("COMMIT");
  EXPECT_EQ(second.get(), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM notifications"), 2);
  EXPECT_EQ(wrong_bytes(), 0);
}

// T5: also for a host of the version before.
TEST_F(Windows, AWindowIsNotProlongedForEver) {
  for (const auto* event : {"first", "second", "third"}) add_events(1, event);
  sql.number(fan_out("first"));
  sql.execute("UPDATE notifications SET created_at = created_at - interval '9 minutes'");
  sql.number(fan_out("second"));
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready r JOIN notifications n USING (shard, delivery_id)"
                       " WHERE r.status = 'open' AND r.due_at = n.created_at + interval '10 minutes'"),
            1);
  sql.execute("UPDATE notifications SET created_at = created_at + interval '9 minutes'");
  sql.number(fan_out("third"));
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE due_at > now() + interval '1 minute'"), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM notifications"), 1);
  EXPECT_EQ(wrong_bytes(), 0);
}

class OrphanedEvents : public Windows {
 protected:
  OrphanTurns turns;
  const std::unique_ptr<NotifyStore> store =
      make_notify_store(address, 1, {.vault = nullptr, .debounce = Millis(60'000), .max_bytes = 1 << 20, .secret_grace = {}});

  Adoption adopt() {
    const auto adopted = store->adopt_orphans(Millis(1000), turns);
    EXPECT_TRUE(adopted) << adopted.error().what;
    return adopted.value_or(Adoption{});
  }
  std::int64_t left_of(std::int64_t org) {
    return sql.number("SELECT count(*) FROM alert_events WHERE fanned_out_at IS NULL AND org_id = " + std::to_string(org));
  }
};

// T18
TEST_F(OrphanedEvents, AQuietOrganisationDoesNotWaitBehindABusyOne) {
  add_events(1, "many", 1000);
  add_events(2, "one");
  EXPECT_TRUE(adopt().more);
  EXPECT_EQ(left_of(2), 0);
  EXPECT_GT(left_of(1), 0);
  while (adopt().more) continue;
  EXPECT_EQ(left_of(1), 0);
  EXPECT_EQ(wrong_bytes(), 0);
  EXPECT_EQ(sql.number("SELECT count(*) FROM notification_events"), 1001);
}

// T5: what comes late finds the window still open, and closes no later than it may.
TEST_F(OrphanedEvents, AnOldWindowThatAnOrphanGoesIntoStaysWithinTheLongestWait) {
  for (const auto* event : {"first", "second"}) add_events(1, event);
  sql.number(
      "SELECT fan_out(org_id, event_no, interval '1 minute', 1000000, interval '10 minutes') FROM alert_events"
      " WHERE event_id = 'first-1'");
  sql.execute("UPDATE notifications SET created_at = created_at - interval '9 minutes 50 seconds'");
  while (adopt().more) continue;
  EXPECT_EQ(left_of(1), 0);
  EXPECT_EQ(sql.number("SELECT count(*) FROM notifications"), 1) << "it went into the open window";
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready r JOIN notifications n USING (shard, delivery_id)"
                       " WHERE r.status = 'open' AND r.due_at = n.created_at + interval '10 minutes'"),
            1);
  EXPECT_EQ(wrong_bytes(), 0);
}

// T18
TEST_F(OrphanedEvents, OfManyOrganisationsEachHasItsTurn) {
  sql.execute("INSERT INTO organisations (name) SELECT 'other-' || i FROM generate_series(1, 60) i");
  sql.execute(
      "INSERT INTO alert_rules (org_id, name, status) SELECT org_id, 'none', 'active' FROM organisations WHERE name LIKE "
      "'other-%'");
  sql.execute(
      "INSERT INTO alert_events (org_id, rule_id, event_id, snapshot, created_at)"
      " SELECT org_id, rule_id, 'e' || i, '1', now() - interval '1 hour' FROM alert_rules, generate_series(1, 3) i"
      " WHERE name = 'none'");
  int calls = 1;
  for (; adopt().more; ++calls) ASSERT_LT(calls, 20);
  EXPECT_EQ(sql.number("SELECT count(*) FROM alert_events WHERE fanned_out_at IS NULL"), 0);
}

// T18
TEST_F(OrphanedEvents, WhatCannotBeFannedOutKeepsNobodyWaiting) {
  add_events(1, "locked", 300);
  add_events(2, "free");
  sql.execute("INSERT INTO alert_rules (org_id, name, status) VALUES (1, 'other', 'active')");
  sql.execute(
      "INSERT INTO alert_events (org_id, rule_id, event_id, snapshot, created_at)"
      " SELECT 1, rule_id, 'of-other', '1', now() - interval '1 hour' FROM alert_rules WHERE name = 'other'");
  sql.execute("INSERT INTO notification_windows SELECT org_id, rule_id, channel_id, 0 FROM rule_channels WHERE org_id = 1");
  SqlClient somebody(url);
  somebody.execute("BEGIN; SELECT FROM waybill.notification_windows FOR UPDATE");
  std::vector<std::string> failures;
  for (Adoption adopted{.more = true}; adopted.more;) {
    adopted = adopt();
    failures.insert(failures.end(), adopted.failures.begin(), adopted.failures.end());
    ASSERT_LT(failures.size(), 20u);
  }
  EXPECT_GT(failures.size(), 0u);
  EXPECT_EQ(left_of(1), 300) << "the event of the other rule is fanned out";
  EXPECT_EQ(left_of(2), 0);
  somebody.execute("COMMIT");
  turns = {};
  while (adopt().more) continue;
  EXPECT_EQ(left_of(1), 0);
  EXPECT_EQ(wrong_bytes(), 0);
}

// T18: two hosts at once.
TEST_F(OrphanedEvents, AreFannedOutOnceWhoeverDoesIt) {
  sql.execute("INSERT INTO alert_rules (org_id, name, status) SELECT 1, 'more', 'active' FROM generate_series(1, 5)");
  sql.execute(
      "INSERT INTO rule_channels SELECT r.org_id, r.rule_id, c.channel_id FROM alert_rules r JOIN channels c USING (org_id)"
      " WHERE r.name = 'more'");
  add_events(1, "e", 100);
  const auto other = std::async(std::launch::async, [&] {
    OrphanTurns own;
    const auto second =
        make_notify_store(address, 1, {.vault = nullptr, .debounce = Millis(60'000), .max_bytes = 1 << 20, .secret_grace = {}});
    for (int calls = 0; calls < 100; ++calls)
      if (const auto adopted = second->adopt_orphans(Millis(1000), own); adopted && !adopted->more) break;
  });
  for (int calls = 0; calls < 100 && adopt().more; ++calls) continue;
  other.wait();
  turns = {};
  while (adopt().more) continue;
  EXPECT_EQ(left_of(1), 0);
  EXPECT_EQ(sql.number("SELECT count(*) FROM notification_events"), 600);
  EXPECT_EQ(wrong_bytes(), 0);
}

}  // namespace
}  // namespace waybill::testing
