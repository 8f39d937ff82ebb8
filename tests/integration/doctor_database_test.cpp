// `waybill doctor` at a database in trouble: each is told with what to do, what cannot be asked is never called fine, and the
// rest goes on.  O4
#include <gtest/gtest.h>

#include <memory>

#include "support/doctor_world.h"
#include "support/postgres_standby.h"
#include "support/stepped_clock.h"

namespace waybill::testing {
namespace {

using DoctorOfDatabases = DoctorWorld;

TEST_F(DoctorOfDatabases, NamesSettingsThatCostDurability) {  // O4
  set("fsync", "off");
  set("full_page_writes", "off");
  set("synchronous_commit", "off");
  set("checkpoint_timeout", "'30s'");
  set("max_wal_size", "'64MB'");
  ASSERT_TRUE(becomes("database settings", "problem"));
  ASSERT_TRUE(eventually([&] { return has(visit().said("database settings"), "64 MiB"); }));
  const auto found = visit();
  EXPECT_EQ(found.exit_code, 1);
  for (const auto* words : {"fsync is off", "full_page_writes is off", "synchronous_commit is off", "checkpoint_timeout is 30s"})
    EXPECT_TRUE(has(found.said("database settings"), words)) << words << "\n" << found.text;
}

TEST_F(DoctorOfDatabases, NamesTimeLimitsThatCutHosts) {  // O4
  set("idle_session_timeout", "'10s'");
  EXPECT_TRUE(becomes("database time limits", "warning")) << visit().text;
}

TEST_F(DoctorOfDatabases, NamesAStandbyThatCommitsWaitForAndNobodyIs) {  // O4
  EXPECT_EQ(visit().level("database synchronous"), "ok");
  set("synchronous_standby_names", "'nobody'");
  ASSERT_TRUE(becomes("database synchronous", "problem"));
  EXPECT_TRUE(has(visit().said("database synchronous"), "nothing is acknowledged until that changes"));
}

TEST_F(DoctorOfDatabases, NamesASlotWithoutAReader) {  // O4
  sql().rows("SELECT pg_create_physical_replication_slot('forgotten', true)");
  const AtEnd drop([&] { sql().rows("SELECT pg_drop_replication_slot('forgotten')"); });
  const auto found = visit();
  EXPECT_EQ(found.level("database slots", "forgotten"), "warning") << found.text;
  EXPECT_TRUE(has(found.said("database slots"), "pg_drop_replication_slot('forgotten')")) << found.text;
}

TEST_F(DoctorOfDatabases, NamesTheStandbyThatItIsLedTo) {  // O4
  PostgresCluster primary;
  setup.database_url = primary.create_database();
  ASSERT_EQ(installation().command({"migrate"}).exit_code, 0);
  PostgresStandby standby(primary);
  auto found = visit();
  EXPECT_EQ(found.level("database replication"), "ok") << found.text;
  EXPECT_TRUE(has(found.said("database replication"), "is streaming")) << found.text;
  found = visit({{"WAYBILL_DATABASE_URL", standby.url_of(setup.database_url)}});
  EXPECT_EQ(found.level("database standby"), "problem") << found.text;
  EXPECT_EQ(found.exit_code, 1);
  EXPECT_EQ(found.level("dead letters"), "ok") << "it can be read";
}

TEST_F(DoctorOfDatabases, NamesAnArchiveThatFails) {  // O4
  PostgresCluster archiving;
  setup.database_url = archiving.create_database();
  ASSERT_EQ(installation().command({"migrate"}).exit_code, 0);
  SqlClient(setup.database_url).execute("ALTER SYSTEM SET archive_mode = on");
  SqlClient(setup.database_url).execute("ALTER SYSTEM SET archive_command = 'false'");
  archiving.restart();
  SqlClient(setup.database_url).rows("SELECT pg_switch_wal()");
  ASSERT_TRUE(becomes("database archive", "problem")) << visit().text;
  EXPECT_TRUE(has(visit().said("database archive"), "it never succeeded")) << visit().text;
}

TEST_F(DoctorOfDatabases, NamesAClockThatDiffers) {  // O4
  SteppedClock clock;
  PostgresCluster server(clock.environment());
  setup.database_url = server.create_database();
  clock.step(std::chrono::seconds(30));
  auto found = visit();
  EXPECT_EQ(found.level("database clock"), "warning") << found.text;
  EXPECT_TRUE(has(found.said("database clock"), "s behind the database's")) << found.text;
  clock.step(std::chrono::seconds(600));
  EXPECT_EQ(visit().level("database clock"), "problem");
}

TEST_F(DoctorOfDatabases, NamesWhatVacuumDoesNot) {  // O4
  ASSERT_EQ(visit().level("table vacuum"), "ok");
  sql().execute("ALTER TABLE waybill.claims SET (autovacuum_enabled = false)");
  auto found = visit();
  EXPECT_EQ(found.level("table vacuum", "claims"), "problem") << found.text;
  sql().execute("ALTER TABLE waybill.claims RESET (autovacuum_enabled)");
  set("autovacuum", "off");
  ASSERT_TRUE(becomes("table vacuum", "problem"));
  EXPECT_TRUE(has(visit().said("table vacuum"), "autovacuum is off"));
}

TEST_F(DoctorOfDatabases, NamesIndexesAndPartitions) {  // O4
  sql().execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'waybill.dead_letters_waiting'::regclass");
  const auto month = [&](int ahead) {
    return sql().text("SELECT to_char(date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => " +
                      std::to_string(ahead) + "), 'YYYY_MM')");
  };
  sql().execute("DROP TABLE waybill.attempts_" + month(1));
  auto found = visit();
  EXPECT_EQ(found.level("index validity", "dead_letters_waiting"), "warning") << found.text;
  EXPECT_EQ(found.level("partitions"), "warning") << found.text;
  sql().execute("DROP TABLE waybill.audit_log_" + month(0));
  sql().execute(
      "INSERT INTO waybill.audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type) "
      "VALUES (0, 0, now(), 1, 'x', 'x', 'x', 'system')");
  found = visit();
  EXPECT_EQ(found.level("partitions"), "problem") << found.text;
  EXPECT_TRUE(has(found.said("partitions"), "audit_log_default has rows")) << found.text;
}

TEST_F(DoctorOfDatabases, SaysWhatItsRoleMayNotSee) {  // O4
  ASSERT_EQ(installation().command({"roles"}).exit_code, 0);
  cluster().create_role("waybill_doctored", "LOGIN");
  sql().execute("GRANT waybill_app TO waybill_doctored");
  start_host();
  const std::map<std::string, std::string> as{{"WAYBILL_DATABASE_URL", as_role(setup.database_url, "waybill_doctored")}};
  auto found = visit(as);
  EXPECT_EQ(found.level("database transactions"), "unknown") << found.text;
  EXPECT_TRUE(has(found.said("database transactions"), "grant it pg_monitor")) << found.text;
  EXPECT_EQ(found.exit_code, 4) << found.text;
  EXPECT_TRUE(has(installation().command({"doctor"}, as).out, "not known\n  database transactions: "));
  sql().execute("GRANT pg_monitor TO waybill_doctored");
  found = visit(as);
  EXPECT_EQ(found.exit_code, 0) << found.text;
  sql().execute("REVOKE INSERT ON waybill.attempts FROM waybill_app");
  EXPECT_EQ(visit(as).level("database rights"), "problem");
}

TEST_F(DoctorOfDatabases, GoesOnWhenATableIsLocked) {  // O4
  SqlClient other(setup.database_url);
  other.execute("BEGIN");
  other.execute("LOCK TABLE waybill.ready IN ACCESS EXCLUSIVE MODE");
  const auto found = visit();
  EXPECT_EQ(found.level("oldest due"), "unknown") << found.text;
  EXPECT_EQ(found.level("table bloat"), "unknown") << found.text;
  EXPECT_EQ(found.level("outages"), "ok") << found.text;
  EXPECT_EQ(found.level("database archive"), "ok") << found.text;
  EXPECT_EQ(found.exit_code, 1) << "no host runs";
  other.execute("ROLLBACK");
}

TEST_F(DoctorOfDatabases, SaysThatTheDatabaseIsFullOrAway) {  // O4
  ASSERT_EQ(installation().command({"roles"}).exit_code, 0);
  cluster().create_role("waybill_crowded", "LOGIN CONNECTION LIMIT 0");
  auto found = visit({{"WAYBILL_DATABASE_URL", as_role(setup.database_url, "waybill_crowded")}});
  EXPECT_EQ(found.level("database"), "problem") << found.text;
  EXPECT_TRUE(has(found.said("database"), "too many connections")) << found.text;
  EXPECT_EQ(found.exit_code, 1);
  for (const auto* what : {"database version", "hosts", "oldest due", "tokens", "partitions", "database synchronous"})
    EXPECT_EQ(found.level(what), "unknown") << what;
  EXPECT_EQ(found.level("plugins"), "ok") << "what is on this machine is looked at all the same";
  found = visit({{"WAYBILL_DATABASE_URL", "host=/nowhere"}});
  EXPECT_EQ(found.level("database"), "problem") << found.text;
}

TEST_F(DoctorOfDatabases, EndsWhenTheServerHangs) {  // O4
  PostgresCluster server;
  setup.database_url = server.create_database();
  ASSERT_EQ(installation().command({"migrate"}).exit_code, 0);
  server.freeze();
  const auto found = visit();
  server.thaw();
  EXPECT_EQ(found.level("database"), "problem") << found.text;
  EXPECT_EQ(found.level("hosts"), "unknown") << found.text;
  EXPECT_EQ(found.level("configuration"), "ok") << found.text;
}

TEST_F(DoctorOfDatabases, NamesASchemaThatIsNotThere) {  // O4
  use_empty_database();
  const auto found = visit();
  EXPECT_EQ(found.level("database schema"), "problem") << found.text;
  EXPECT_TRUE(has(found.said("database schema"), "run `waybill migrate`")) << found.text;
  EXPECT_EQ(found.level("database version"), "ok");
  EXPECT_EQ(found.level("hosts"), "unknown") << found.text;
  EXPECT_EQ(found.exit_code, 1);
  EXPECT_EQ(sql().number("SELECT count(*) FROM pg_namespace WHERE nspname = 'waybill'"), 0) << "it only looks";
}

}  // namespace
}  // namespace waybill::testing
