// Versions side by side: what migrations declare, whom they refuse, who may register, and whom a change of the schema waits for.
#include <atomic>
#include <future>
#include <thread>

#include "contract/store_world.h"
#include "store/queue/host_liveness.h"
#include "support/eventually.h"

namespace waybill::testing {
namespace {

// E2
TEST(RunsBeside, IsDeclaredInTheFirstLines) {
  EXPECT_EQ(runs_beside("-- Runs beside: 10\nSELECT 1", 14), 10);
  EXPECT_EQ(runs_beside("-- What it does.\n-- Runs beside: 13\nSELECT 1", 14), 13);
  EXPECT_EQ(runs_beside("-- Runs beside: 13", 14), 13);
}

// E2: what nobody vouched for is safe
TEST(RunsBeside, IsNobodyOlderUnlessDeclared) {
  for (const char* sql :
       {"", "SELECT 1", "-- Runs beside: none\n", "-- Runs beside: 1x\n", "-- Runs beside: 14\n", "-- Runs beside: 99\n",
        "-- Runs beside: -3\n", "-- Runs beside:\n", "-- runs beside 3\n", "--\n--\n--\n--\n--\n-- Runs beside: 3\n"})
    EXPECT_EQ(runs_beside(sql, 14), 14) << sql;
}

// E2
TEST(RunsBeside, IsSaidByEveryMigration) {
  for (const auto& migration : migrations()) {
    EXPECT_EQ(migration.runs_beside, runs_beside(migration.sql, migration.version));
    EXPECT_TRUE(migration.sql.starts_with("-- Runs beside: ")) << migration.name;
  }
}

constexpr const char* kBarrier = "SELECT count(*) FROM pg_locks WHERE relation = 'waybill.hosts'::regclass AND granted = ";

class Versions : public ::testing::Test {
 protected:
  void make_newest() {
    const auto made = migrate(address);
    ASSERT_TRUE(made) << made.error().what;
    sql.execute("SET search_path TO waybill");
  }
  Result<std::vector<std::string>> migrate_to(int version, const std::string& text, int beside) {
    auto all = migrations();
    all.push_back({version, "9000_later", text, beside});
    return migrate(
        address, [this](const std::string& who) { told(who); }, all);
  }
  void told(const std::string& who) {
    const std::lock_guard lock(mutex);
    waits += who + "\n";
  }
  std::string waited_for() {
    const std::lock_guard lock(mutex);
    return waits;
  }
  int newest() { return static_cast<int>(sql.number("SELECT max(version) FROM waybill.schema_migrations")); }

  const std::string url = cluster().create_database();
  const DatabaseAddress address{url, "waybill"};
  SqlClient sql{url};
  std::mutex mutex;
  std::string waits;
};

// A host of a program of version 27: its lock, and the row that it writes.
struct OldHost {
  OldHost(const std::string& url, const std::string& name) : session(url) {
    session.execute("SET search_path TO waybill");
    id = session.number("SELECT nextval(pg_get_serial_sequence('hosts', 'host_id'))");
    session.execute("SELECT pg_try_advisory_lock(hashtext('waybill:' || current_schema()), " + std::to_string(id) + ")");
    session.execute("INSERT INTO hosts (host_id, name, knows) OVERRIDING SYSTEM VALUE VALUES (" + std::to_string(id) + ", '" +
                    name + "', 27)");
  }
  SqlClient session;
  std::int64_t id = 0;
};

// E2
TEST_F(Versions, AMigrationIsRefusedWhileOlderHostsLiveAndNothingIsChanged) {
  make_newest();
  auto living = std::make_unique<OldHost>(url, "box:41");
  { OldHost dead(url, "box:42"); }
  const std::string text = "CREATE TABLE later (n integer); INSERT INTO access_rules VALUES ('later', 'SELECT', 'SELECT')";
  std::string why;
  ASSERT_TRUE(eventually([&] {  // the server notices a closed session in its own time
    const auto done = migrate_to(9000, text, 9000);
    if (!done) why = done.error().what;
    return !done && done.error().kind == Error::Kind::invalid && why.find("box:42") == std::string::npos;
  })) << why;
  EXPECT_NE(why.find("box:41 (version 27)"), std::string::npos) << why;
  EXPECT_NE(why.find("waybill migrate"), std::string::npos) << why;
  EXPECT_EQ(newest(), program_version());
  EXPECT_EQ(sql.number("SELECT count(*) FROM pg_tables WHERE tablename = 'later'"), 0);
  EXPECT_EQ(sql.number("SELECT count(*) FROM hosts"), 2) << "nothing of it was carried out";
  living.reset();
  ASSERT_TRUE(eventually([&] { return migrate_to(9000, text, 9000).has_value(); }));
  EXPECT_EQ(newest(), 9000);
  EXPECT_EQ(sql.number("SELECT count(*) FROM hosts"), 0) << "what they held is found by that";
  const auto said = sql.refusal("INSERT INTO hosts (name, knows) VALUES ('box:43', 27)");
  EXPECT_NE(said.find("host box:43 knows schema version 27"), std::string::npos) << "it registers no more: " << said;
}

// E2
TEST_F(Versions, WhatMayRunBesideAMigrationIsOnRecordAndGoesOn) {
  make_newest();
  EXPECT_EQ(sql.number("SELECT count(*) FROM schema_migrations WHERE runs_beside IS NULL"), 0);
  HostLiveness host(address, "box:1");
  ASSERT_TRUE(host.keep());
  EXPECT_EQ(sql.number("SELECT knows FROM hosts"), program_version());
  const auto done = migrate_to(
      9000, "CREATE TABLE later (n integer); INSERT INTO access_rules VALUES ('later', 'SELECT', NULL, NULL)", program_version());
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(newest(), 9000);
  ASSERT_TRUE(host.keep());
  EXPECT_EQ(host.schema().database, 9000);
  EXPECT_FALSE(host.schema().is_too_new());
  HostLiveness another(address, "box:2");
  EXPECT_TRUE(another.keep()) << "it may even start beside it";
  const auto again = migrate(address);
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_TRUE(again->empty());
  EXPECT_TRUE(schema_state(address));
}

// E2
TEST_F(Versions, AMigrationThatNoOlderHostMayRunBesideIsRefusedWhileOneLives) {
  make_newest();
  HostLiveness host(address, "box:1");
  const auto id = host.keep();
  ASSERT_TRUE(id);
  const auto refused = migrate_to(9000, "CREATE TABLE later (n integer)", 9000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::invalid);
  EXPECT_NE(refused.error().what.find("box:1 (version " + std::to_string(program_version()) + ")"), std::string::npos)
      << refused.error().what;
  EXPECT_EQ(*host.keep(), *id) << "it goes on as it was";
  host.leave();
  const auto done = migrate_to(9000, "CREATE TABLE later (n integer)", 9000);
  ASSERT_TRUE(done) << done.error().what;
  const auto too_new = schema_state(address);
  ASSERT_FALSE(too_new);
  EXPECT_NE(too_new.error().what.find("newer waybill"), std::string::npos) << too_new.error().what;
}

// E2
TEST_F(Versions, AHostThatRegistersWhileAMigrationRunsComesTooLate) {
  make_newest();
  sql.execute("CREATE TABLE gate (n integer)");
  sql.execute("INSERT INTO gate VALUES (1)");
  auto migrated = std::async(std::launch::async, [&] {
    return migrate_to(
        9000, "DO $$ BEGIN WHILE EXISTS (SELECT FROM gate) LOOP PERFORM pg_sleep(0.01); END LOOP; END $$; DROP TABLE gate", 9000);
  });
  const AtEnd open(
      [&] { SqlClient(url).execute("DO $$ BEGIN DELETE FROM waybill.gate; EXCEPTION WHEN undefined_table THEN END $$"); });
  ASSERT_TRUE(eventually([&] {
    return sql.number(kBarrier + std::string("true AND mode = 'ShareRowExclusiveLock' AND EXISTS (SELECT FROM pg_stat_activity a "
                                             "WHERE a.pid = pg_locks.pid AND wait_event = 'PgSleep')")) == 1;
  }));
  HostLiveness late(address, "late:1");
  auto registered = std::async(std::launch::async, [&] { return late.keep(); });
  ASSERT_TRUE(eventually([&] { return sql.number(kBarrier + std::string("false")) == 1; })) << "it stands before the barrier";
  EXPECT_EQ(registered.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  sql.execute("DELETE FROM gate");
  const auto done = migrated.get();
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_FALSE(registered.get());
  EXPECT_EQ(sql.number("SELECT count(*) FROM hosts"), 0);
  const auto again = late.keep();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, Error::Kind::invalid);
  EXPECT_TRUE(late.schema().is_too_new());
}

// E2
TEST_F(Versions, AHostOnASchemaThatBecameTooNewKeepsItsPresence) {
  make_newest();
  HostLiveness host(address, "box:1");
  const auto id = host.keep();
  ASSERT_TRUE(id);
  EXPECT_FALSE(host.schema().is_too_new());
  sql.execute("INSERT INTO schema_migrations (version, name, runs_beside) VALUES (9000, '9000_later', NULL)");
  ASSERT_TRUE(host.keep());
  EXPECT_TRUE(host.schema().is_too_new()) << "a row without the word is for nobody older";
  EXPECT_EQ(*host.keep(), *id) << "what is out can be settled";
}

// E5: a change of the schema behind somebody's report
TEST_F(Versions, AMigrationBehindALongReaderHoldsUpNobodyAndSaysWhomItWaitsFor) {
  make_newest();
  SqlClient reader(url);
  reader.execute("SET search_path TO waybill; SET application_name TO 'a long report'");
  reader.execute("BEGIN; SELECT count(*) FROM submissions");
  auto migrated = std::async(std::launch::async, [&] {
    return migrate_to(9000, "ALTER TABLE submissions ADD COLUMN later integer", program_version());
  });
  auto intake = make_intake_store(address);
  const auto route = intake->route(kDefaultOrg, {.target = "sms", .action_type = "sms", .url = "http://x/", .destination = "{}"});
  ASSERT_TRUE(route) << route.error().what;
  std::atomic<int> stored{0};
  std::atomic<bool> enough{false};
  std::jthread load([&] {
    while (!enough) {
      const NewSubmission item{.org = kDefaultOrg,
                               .kind = "intent",
                               .pipeline = "intent",
                               .state = "pending",
                               .client_ref = "r" + std::to_string(stored),
                               .target = "sms",
                               .cooldown_key = "sms",
                               .route = *route,
                               .payload = "{}",
                               .payload_hash = sha256("{}")};
      if (intake->submit(0, {&item, 1}, std::nullopt)) ++stored;
    }
  });
  const AtEnd stop([&] {  // also when the test ends early
    enough = true;
    reader.execute("COMMIT");
  });
  ASSERT_TRUE(eventually([&] { return !waited_for().empty(); }));
  const int then = stored;
  EXPECT_TRUE(eventually([&] { return stored > then + 20; })) << "work goes on while it waits";
  EXPECT_NE(waited_for().find("a long report"), std::string::npos) << waited_for();
  EXPECT_EQ(migrated.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  reader.execute("COMMIT");
  const auto done = migrated.get();
  ASSERT_TRUE(done) << done.error().what;
}

class Partitions : public StoreWorld {
 protected:
  std::int64_t partitions() {
    return sql.number("SELECT count(*) FROM pg_inherits WHERE inhparent IN ('attempts'::regclass, 'audit_log'::regclass)");
  }
};

// E5
TEST_F(Partitions, WaitForAReaderAndNoSettlementWaitsForThem) {
  const auto all = partitions();
  for (const char* log : {"attempts", "audit_log"})
    sql.execute("DO $$ BEGIN EXECUTE format('DROP TABLE %I', '" + std::string(log) +
                "' || to_char(date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month', '_YYYY_MM')); END $$");
  submit_many(40);
  SqlClient report(url);
  report.execute("SET search_path TO waybill; SET application_name TO 'a long report'");
  report.execute("BEGIN; SELECT count(*) FROM attempts; SELECT count(*) FROM audit_log");
  std::mutex mutex;
  std::string postponed;
  std::atomic<int> tries{0};
  std::jthread maker([&](std::stop_token stop) {
    const auto own = make_maintenance_store(address);
    for (bool made = false; !made && !stop.stop_requested(); ++tries) {
      const auto done = own->make_partitions();
      made = done.has_value();
      const std::lock_guard lock(mutex);
      if (!done) postponed = done.error().what;
    }
  });
  bool reading = true;
  const auto end_reading = [&] {
    if (std::exchange(reading, false)) report.execute("COMMIT");
  };
  std::atomic<std::size_t> ends{0};
  std::jthread settling([&] {
    const auto own = make_settle_store(address);
    const auto claimed = queue->claim(0, {1}, {1}, Millis(60'000), std::vector<RouteShare>{{route(), 40, {}, {}}}, {}, kAnyBytes);
    for (const auto& row : claimed->rows) {
      const auto done = own->settle(0, std::vector<Settlement>{ending(row, {1}, Status::accepted)});
      if (done) ends += done->held.size();
    }
  });
  const AtEnd end(end_reading);  // also when the test ends early
  EXPECT_TRUE(eventually([&] { return ends == 40; })) << "settled while the reader goes on: " << ends;
  EXPECT_TRUE(eventually([&] { return tries > 2; }));
  {
    const std::lock_guard lock(mutex);
    EXPECT_NE(postponed.find("a long report"), std::string::npos) << postponed;
    EXPECT_NE(postponed.find("attempts"), std::string::npos) << postponed;
    EXPECT_NE(postponed.find("audit_log"), std::string::npos) << postponed;
  }
  EXPECT_EQ(partitions(), all - 2);
  end_reading();
  EXPECT_TRUE(eventually([&] { return partitions() == all; }));
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts"), 40);
}

// E5: it takes the place of one that was made as a partition from the beginning
TEST_F(Partitions, ThatWereMadeApartAreWhatTheOthersAre) {
  EXPECT_EQ(sql.number("SELECT make_partitions(4)"), 4);
  for (const std::string log : {"attempts", "audit_log"}) {
    const auto shape = [&](const std::string& what) {
      return sql.number("SELECT count(DISTINCT " + what +
                        ") FROM pg_inherits i JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = '" + log + "'::regclass");
    };
    EXPECT_EQ(shape("(relowner, relrowsecurity, relkind, reloptions)::text"), 1) << log;
    EXPECT_EQ(
        shape("(SELECT array_agg((tgname, tgenabled, tgtype)::text ORDER BY tgname) FROM pg_trigger WHERE tgrelid = c.oid)"), 1)
        << log;
    EXPECT_EQ(shape("(SELECT count(*) FROM pg_index x JOIN pg_inherits p ON p.inhrelid = x.indexrelid WHERE x.indrelid = c.oid)"),
              1)
        << log;
    EXPECT_EQ(shape("(SELECT array_agg((attname, atttypid, attnotnull)::text ORDER BY attname) FROM pg_attribute WHERE attrelid "
                    "= c.oid AND attnum > 0)"),
              1)
        << log;
    EXPECT_EQ(shape("(SELECT array_agg(pg_get_constraintdef(k.oid) ORDER BY conname) FROM pg_constraint k WHERE conrelid = c.oid "
                    "AND contype = 'c')"),
              1)
        << log;
  }
}

}  // namespace
}  // namespace waybill::testing
