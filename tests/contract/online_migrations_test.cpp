// Migrations beside running hosts: applied statement by statement, resumed after a kill, planned without a change.  O6
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <thread>

#include "contract/schema_text.h"
#include "store/pg/migration_plan.h"
#include "store/queue/host_liveness.h"
#include "support/eventually.h"
#include "support/postgres_cluster.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

// Every row of `counted` gets its square, a few at a time.
constexpr std::string_view kSquares = R"(-- Runs beside: 27
--
-- Locks: none that lasts.

ALTER TABLE counted ADD COLUMN square integer;
BEGIN;
INSERT INTO steps_seen VALUES ('together');
INSERT INTO steps_seen VALUES ('with this');
COMMIT;
-- Batches
WITH batch AS (
  UPDATE counted SET square = n * n WHERE n IN
    (SELECT n FROM counted WHERE n > coalesce(nullif(:cursor, '')::integer, -1) ORDER BY n LIMIT 3) RETURNING n)
SELECT max(n)::text FROM batch;
CREATE UNIQUE INDEX CONCURRENTLY counted_squares ON counted (square);
)";

class OnlineMigrations : public ::testing::Test {
 protected:
  // A database as before 1.0 left it, with a table of our own.
  struct Copy {
    std::string url = cluster().create_database(original());
    DatabaseAddress address{url, "waybill"};
    SqlClient sql{url};
    Copy() { sql.execute("SET search_path TO waybill"); }
  };

  static const std::string& original() {
    static const std::string url = [] {
      auto made = cluster().create_database();
      const auto applied = migrate({made, "waybill"}, {}, {migrations().front()});
      if (!applied) throw std::runtime_error(applied.error().what);
      SqlClient(made).execute(
          "SET search_path TO waybill; DROP TABLE migration_progress; CREATE TABLE counted AS SELECT n FROM generate_series(0, "
          "9) n;"
          " CREATE TABLE steps_seen (what text NOT NULL); INSERT INTO access_rules VALUES ('counted', 'SELECT', 'SELECT'),"
          " ('steps_seen', 'SELECT', 'SELECT')");
      return made;
    }();
    return url;
  }

  static std::vector<Migration> all() {
    auto list = migrations();
    list.push_back({9000, "9000_squares", kSquares, 27});
    return list;
  }

  // Everything that the migrations leave, in a text.
  static std::string outcome(Copy& copy) {
    return schema_text(copy.sql) +
           copy.sql.text("SELECT string_agg(n || ' ' || coalesce(square, -1), ', ' ORDER BY n) FROM counted") +
           copy.sql.text("SELECT string_agg(what, ', ' ORDER BY what) FROM steps_seen") +
           copy.sql.text(
               "SELECT string_agg(version || ' ' || name || ' ' || runs_beside, ', ' ORDER BY version) FROM schema_migrations") +
           copy.sql.text("SELECT count(*) FROM pg_index WHERE NOT indisvalid") +
           copy.sql.text("SELECT count(*) FROM migration_progress");
  }

  // Migrates in a process of its own, which is killed as it begins the step of this number; false: there are not so many.
  static bool is_killed_at(int step, const DatabaseAddress& address) {
    const auto child = ::fork();
    if (child == 0) {
      int begun = 0;
      const auto done = migrate(address, {}, all(), embedded_functions(), [&](const MigrationPlace&) {
        if (++begun == step) ::raise(SIGKILL);
      });
      ::_exit(done ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "step " << step;
    return WIFSIGNALED(status);
  }
};

TEST_F(OnlineMigrations, AfterAKillAtAnyStepAreFinishedAsIfNothingHadHappened) {
  Copy whole;
  const auto applied = migrate(whole.address, {}, all());
  ASSERT_TRUE(applied) << applied.error().what;
  const auto expected = outcome(whole);
  EXPECT_NE(expected.find("0 0, 1 1, 2 4, 3 9, 4 16, 5 25, 6 36, 7 49, 8 64, 9 81"), std::string::npos);
  int step = 1;
  for (;; ++step) {
    Copy copy;
    if (!is_killed_at(step, copy.address)) break;
    const auto resumed = migrate(copy.address, {}, all());
    ASSERT_TRUE(resumed) << "killed at step " << step << ": " << resumed.error().what;
    EXPECT_EQ(outcome(copy), expected) << "killed at step " << step;
  }
  EXPECT_GT(step, 10) << "each statement is a step";
}

TEST_F(OnlineMigrations, AfterAKillAtEveryStepInTurnComeToTheirEnd) {
  Copy whole, copy;
  ASSERT_TRUE(migrate(whole.address, {}, all()));
  int killed = 0;
  while (is_killed_at(2, copy.address)) ++killed;
  EXPECT_GT(killed, 10) << "each time one step further";
  EXPECT_EQ(outcome(copy), outcome(whole));
}

// Hosts go on by the role of the application, and a kill may leave them at any step for long.
TEST_F(OnlineMigrations, WhatTheApplicationsRoleMayReadItMayReadAfterEachStep) {
  Copy copy;
  copy.sql.execute(
      "DO $$ BEGIN CREATE ROLE steps_application; EXCEPTION WHEN duplicate_object THEN NULL; END $$;"
      " UPDATE installation SET application_role = 'steps_application'; SELECT apply_access()");
  std::size_t views = 0;
  for (bool is_killed = true; is_killed;) {
    is_killed = is_killed_at(2, copy.address);
    for (const auto& view :
         copy.sql.rows("SELECT c.relname FROM pg_class c WHERE relkind = 'v' AND relnamespace = "
                       "'waybill'::regnamespace AND has_table_privilege('steps_application', oid, 'SELECT')")) {
      ++views;
      EXPECT_NO_THROW(copy.sql.execute("SET ROLE steps_application; SELECT FROM " + *view[0] + " LIMIT 0")) << *view[0];
      copy.sql.execute("RESET ROLE");
    }
  }
  EXPECT_GT(views, 30u);
}

TEST_F(OnlineMigrations, GoOnWithTheBatchAfterTheLastThatWasWritten) {
  Copy copy;
  copy.sql.execute(
      "CREATE FUNCTION stop_at_six() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.n = 6 THEN RAISE 'six'; END IF; RETURN "
      "NEW; END $$;"
      " CREATE TRIGGER stops BEFORE UPDATE ON counted FOR EACH ROW EXECUTE FUNCTION stop_at_six()");
  const auto stopped = migrate(copy.address, {}, all());
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().what.find("migration 9000_squares: "), std::string::npos) << stopped.error().what;
  EXPECT_EQ(copy.sql.text("SELECT cursor FROM migration_progress WHERE version = 9000"), "5");
  EXPECT_EQ(copy.sql.number("SELECT count(square) FROM counted"), 6) << "what was committed stays";
  copy.sql.execute("DROP TRIGGER stops ON counted; DROP FUNCTION stop_at_six(); UPDATE counted SET square = -n - 1 WHERE n < 6");
  ASSERT_TRUE(migrate(copy.address, {}, all()));
  EXPECT_EQ(copy.sql.number("SELECT count(*) FROM counted WHERE square < 0"), 6) << "the first batches are not done again";
}

// An index is made beside whoever writes: it waits for transactions that began before it, and nobody waits for it.
TEST_F(OnlineMigrations, MakeAnIndexUnderALockThatNobodyWaitsFor) {
  Copy copy;
  SqlClient writer(copy.url), other(copy.url);
  for (auto* session : {&writer, &other}) session->execute("SET search_path TO waybill; SET lock_timeout = '5s'");
  const auto insert = [](int id) {
    return "INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, ended_at) "
           "VALUES (0, " +
           std::to_string(id) + ", 1, " + std::to_string(id) + ", 1, 'sms', 1, 'rejected', now())";
  };
  writer.execute("SET application_name TO 'a slow writer'; BEGIN; " + insert(1024));
  std::promise<std::string> waits_for;
  bool told = false;
  auto migrated = std::async(std::launch::async, [&] {
    return migrate(
        copy.address,
        [&](const std::string& who) {
          if (!std::exchange(told, true)) waits_for.set_value(who);
        },
        all());
  });
  const AtEnd commit([&] { writer.execute("COMMIT"); });  // also when the test ends early
  const std::string building =
      "FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.query LIKE 'CREATE INDEX CONCURRENTLY%' AND l.relation = "
      "'deliveries'::regclass AND l.granted";
  ASSERT_TRUE(eventually([&] { return copy.sql.number("SELECT count(*) " + building) > 0; }));
  EXPECT_EQ(copy.sql.text("SELECT string_agg(DISTINCT l.mode, ' ') " + building), "ShareUpdateExclusiveLock");
  EXPECT_EQ(other.refusal(insert(2048)), "") << "another writer goes on";
  EXPECT_EQ(other.number("SELECT count(*) FROM deliveries"), 1);
  auto waited_for = waits_for.get_future();
  ASSERT_EQ(waited_for.wait_for(std::chrono::minutes(5)), std::future_status::ready) << "it says whom it waits for";
  EXPECT_NE(waited_for.get().find("a slow writer"), std::string::npos);
  writer.execute("COMMIT; BEGIN");
  const auto done = migrated.get();
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(copy.sql.number("SELECT count(*) FROM deliveries WHERE status = 'rejected'"), 2);
  EXPECT_EQ(copy.sql.text("SELECT indisvalid FROM pg_index WHERE indexrelid = 'deliveries_failed'::regclass"), "t");
}

TEST_F(OnlineMigrations, MakeAnIndexAnewThatWasLeftHalfDone) {
  Copy copy;
  SqlClient writer(copy.url);
  writer.execute(
      "SET search_path TO waybill; BEGIN; INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type,"
      " route_id, status, ended_at) VALUES (0, 1024, 1, 1024, 1, 'sms', 1, 'rejected', now())");
  auto cut_off = std::async(std::launch::async, [&] { return migrate(copy.address, {}, all()); });
  const AtEnd commit([&] { writer.execute("COMMIT"); });
  const std::string ended =
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%'"
      " AND wait_event = 'virtualxid' AND datname = current_database()";
  ASSERT_TRUE(eventually([&] { return copy.sql.number(ended) > 0; }));
  const auto failed = cut_off.get();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().what.find("migration 0058_failed_deliveries: "), std::string::npos) << failed.error().what;
  ASSERT_EQ(copy.sql.text("SELECT indisvalid FROM pg_index WHERE indexrelid = 'deliveries_failed'::regclass"), "f");
  writer.execute("COMMIT; BEGIN");
  const auto done = migrate(copy.address, {}, all());
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(copy.sql.text("SELECT indisvalid FROM pg_index WHERE indexrelid = 'deliveries_failed'::regclass"), "t");
}

TEST_F(OnlineMigrations, ArePlannedStepByStepAndNothingIsChanged) {
  Copy copy;
  copy.sql.execute(
      "INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, ended_at)"
      " SELECT 0, n * 1024, 1, n * 1024, 1, 'sms', 1, 'accepted', now() FROM generate_series(1, 5000) n; ANALYZE deliveries");
  const auto before = schema_text(copy.sql);
  const auto plan = plan_migrations(copy.address, all());
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->state.database, 55);
  EXPECT_TRUE(plan->in_the_way.empty());
  EXPECT_FALSE(plan->renews_functions) << "they came with the first schema";
  ASSERT_EQ(plan->migrations.size(), all().size() - 1);
  EXPECT_EQ(plan->migrations[0].name, "0056_traces");
  ASSERT_EQ(plan->migrations[0].steps.size(), 2u);
  EXPECT_EQ(plan->migrations[0].steps[0].step.table, "submissions");
  EXPECT_EQ(plan->migrations[0].steps[0].length, Seconds(0));
  const auto& index = plan->migrations[2].steps[0];
  EXPECT_EQ(index.step.index, "deliveries_failed");
  EXPECT_EQ(index.rows, 5000);
  EXPECT_GT(index.bytes, 5000 * 50);
  EXPECT_NE(plan->migrations[2].locks.find("submission_states"), std::string::npos) << plan->migrations[2].locks;
  EXPECT_EQ(schema_text(copy.sql), before);
}

TEST_F(OnlineMigrations, ArePlannedWithWhatIsDoneAndAgainWithNothing) {
  Copy copy;
  ASSERT_TRUE(is_killed_at(2, copy.address));
  const auto rest = plan_migrations(copy.address, all());
  ASSERT_TRUE(rest) << rest.error().what;
  EXPECT_TRUE(rest->migrations[0].steps[0].is_done);
  EXPECT_FALSE(rest->migrations[0].steps[1].is_done);
  ASSERT_TRUE(migrate(copy.address, {}, all()));
  const auto none = plan_migrations(copy.address, all());
  ASSERT_TRUE(none) << none.error().what;
  EXPECT_TRUE(none->migrations.empty());
  EXPECT_FALSE(none->renews_functions);
}

TEST_F(OnlineMigrations, ArePlannedWithTheHostsThatStandInTheWay) {
  Copy copy;
  ASSERT_TRUE(migrate(copy.address));
  HostLiveness host(copy.address, "box:1");
  ASSERT_TRUE(host.keep());
  auto later = migrations();
  later.push_back({9000, "9000_later", "SELECT 1", 9000});
  const auto plan = plan_migrations(copy.address, later);
  ASSERT_TRUE(plan) << plan.error().what;
  ASSERT_EQ(plan->migrations.size(), 1u);
  EXPECT_TRUE(plan->migrations[0].needs_pause);
  EXPECT_EQ(plan->in_the_way, std::vector<std::string>{"box:1 (version " + std::to_string(program_version()) + ")"});
  EXPECT_TRUE(plan_migrations(copy.address, later, {.sql = "", .hash = "other"})->renews_functions);
  later.back().runs_beside = program_version();
  EXPECT_TRUE(plan_migrations(copy.address, later)->in_the_way.empty());
}

TEST_F(OnlineMigrations, OfAnEmptyDatabaseArePlannedAsWell) {
  const DatabaseAddress nothing{cluster().create_database(), "waybill"};
  const auto plan = plan_migrations(nothing);
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->migrations.size(), migrations().size());
  EXPECT_FALSE(plan->migrations[0].needs_pause);
  EXPECT_EQ(SqlClient(nothing.url).number("SELECT count(*) FROM pg_namespace WHERE nspname = 'waybill'"), 0);
}

// Strong locks that migrating sessions hold on tables and views, as often as can be looked.
class LockWatch {
 public:
  explicit LockWatch(const std::string& url) : thread_([this, url](std::stop_token stop) { look(url, stop); }) {}

  // Ends it. The longest time that one transaction was seen to hold one, with what it ran.
  std::pair<std::chrono::milliseconds, std::string> longest() {
    thread_ = {};
    return longest_;
  }
  bool saw_one_in_the_way_of_rows() const { return in_the_way_; }
  int looks() const { return looks_; }

 private:
  void look(const std::string& url, const std::stop_token& stop) {
    using Clock = std::chrono::steady_clock;
    SqlClient sql(url);
    std::map<std::string, Clock::time_point> since;
    for (; !stop.stop_requested(); ++looks_) {
      std::map<std::string, Clock::time_point> held;
      for (const auto& row : sql.rows(kHeld)) {
        const auto key = *row[0];
        const auto begun = since.contains(key) ? since[key] : Clock::now();
        held[key] = begun;
        const auto length = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun);
        if (length >= longest_.first) longest_ = {length, key + ": " + *row[1]};
        in_the_way_ = in_the_way_ || row[1]->starts_with("CREATE INDEX") || row[1]->starts_with("WITH batch");
      }
      since = std::move(held);
    }
  }

  static constexpr auto kHeld =
      "SELECT l.virtualtransaction || ' ' || l.mode || ' ' || l.relation::regclass, a.query FROM pg_locks l JOIN "
      "pg_stat_activity a USING (pid)"
      " JOIN pg_class c ON c.oid = l.relation WHERE l.granted AND a.application_name LIKE 'waybill%migrate' AND c.relkind IN "
      "('r', 'p', 'v')"
      " AND c.relnamespace = 'waybill'::regnamespace"
      " AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')";

  std::pair<std::chrono::milliseconds, std::string> longest_{0, "none was seen"};
  bool in_the_way_ = false;
  int looks_ = 0;
  std::jthread thread_;  // last: it uses all above
};

// Somebody who writes to the large tables and reads the view, a row at a time, and the longest that one of them took.
class Writer {
 public:
  // Each has ids of its own, from `first` downwards.
  Writer(const std::string& url, int first) : first_(first), thread_([this, url](std::stop_token stop) { write(url, stop); }) {}
  std::chrono::milliseconds longest() {
    thread_ = {};
    return longest_;
  }
  int rows() const { return rows_; }

 private:
  void write(const std::string& url, const std::stop_token& stop) {
    SqlClient sql(url);
    sql.execute("SET search_path TO waybill");
    while (!stop.stop_requested()) {
      const auto begun = std::chrono::steady_clock::now();
      const auto id = std::to_string(first_ - rows_);
      sql.execute(
          "BEGIN; INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, "
          "created_at)"
          " VALUES (0, " +
          id + ", 1, 'intent', 'w" + id +
          "', 'intent', 'sms', 'as_delivery', '', now());"
          " INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, ended_at)"
          " VALUES (0, " +
          id + ", 1, " + id +
          ", 1, 'sms', 1, 'rejected', now());"
          " SELECT state FROM submission_states WHERE shard = 0 AND id = " +
          id + "; COMMIT");
      longest_ =
          std::max(longest_, std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun));
      ++rows_;
    }
  }

  int first_;
  std::chrono::milliseconds longest_{0};
  std::atomic<int> rows_{0};
  std::jthread thread_;  // last: it uses all above
};

// In a round over everything: ten million rows, and nobody is held up for longer than a tenth of a second.
TEST_F(OnlineMigrations, HoldNoStrongLockWhileTheyWalkRows) {
  Copy copy;
  const auto rows = std::to_string(all_rounds() ? 10'000'000 : 100'000);
  copy.sql.execute(
      "INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at)"
      " SELECT 0, n, 1, 'intent', n::text, 'intent', 'sms', 'as_delivery', '', now() FROM generate_series(1, " +
      rows + ") n");
  copy.sql.execute(
      "INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, ended_at)"
      " SELECT 0, n, 1, n, 1, 'sms', 1, CASE WHEN n % 50 = 0 THEN 'rejected' ELSE 'accepted' END::delivery_status, now()"
      " FROM generate_series(1, " +
      rows + ") n");
  copy.sql.execute("ANALYZE submissions, deliveries");
  const auto plan = plan_migrations(copy.address);
  ASSERT_TRUE(plan) << plan.error().what;
  std::int64_t planned = 0;
  for (const auto& migration : plan->migrations)
    for (const auto& step : migration.steps) planned += step.length.count();
  LockWatch locks(copy.url);
  std::array<Writer, 2> writers{Writer(copy.url, -1), Writer(copy.url, -1'000'000'000)};
  ASSERT_TRUE(eventually([&] { return writers[0].rows() > 10; }));
  const auto begun = std::chrono::steady_clock::now();
  const auto done = migrate(copy.address);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  ASSERT_TRUE(done) << done.error().what;
  const auto [longest, what] = locks.longest();
  const auto waited = std::max(writers[0].longest(), writers[1].longest());
  std::printf(
      "%s rows: %.1f s (planned: %lld s); the longest strong lock %lld ms (%s), the longest transaction of a writer %lld ms\n",
      rows.c_str(), took.count(), static_cast<long long>(planned), static_cast<long long>(longest.count()), what.c_str(),
      static_cast<long long>(waited.count()));
  EXPECT_GT(locks.looks(), 10);
  EXPECT_FALSE(locks.saw_one_in_the_way_of_rows()) << what;
  EXPECT_EQ(copy.sql.text("SELECT indisvalid FROM pg_index WHERE indexrelid = 'deliveries_failed'::regclass"), "t");
  if (all_rounds()) {
    EXPECT_LE(longest, std::chrono::milliseconds(100)) << what;
  }
}

}  // namespace
}  // namespace waybill::testing
