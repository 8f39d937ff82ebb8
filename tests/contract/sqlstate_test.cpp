// What goes wrong with a statement, provoked on a real server: what may pass is told apart from what can never succeed.  E4
#include <thread>

#include "contract/store_world.h"
#include "settle/settler.h"
#include "support/eventually.h"

namespace waybill::testing {
namespace {

DatabaseTimeouts short_times() {
  DatabaseTimeouts times;
  times.lock = Millis(200);
  return times;
}

class Sqlstates : public StoreWorld {
 protected:
  static Connection connect(const DatabaseAddress& to) {
    auto opened = Connection::open(to, "test");
    if (!opened) throw std::runtime_error(opened.error().what);
    return std::move(*opened);
  }

  // `is_open`: whether the session may go on.
  static void expect(Connection& session, const std::string& statement, const std::string& sqlstate, Error::Kind kind,
                     bool is_open) {
    const auto done = session.script(statement);
    ASSERT_FALSE(done) << statement;
    EXPECT_NE(done.error().what.find("[" + sqlstate + "]"), std::string::npos) << done.error().what;
    EXPECT_EQ(done.error().kind, kind) << done.error().what;
    EXPECT_EQ(session.is_open(), is_open) << done.error().what;
    if (session.is_open()) static_cast<void>(session.script("ROLLBACK"));
  }
  void expect_final(const std::string& statement, const std::string& sqlstate) {
    auto session = connect(address);
    expect(session, statement, sqlstate, Error::Kind::bug, true);
  }
  void expect_waited_for(Connection& session, const std::string& statement, const std::string& sqlstate) {
    expect(session, statement, sqlstate, Error::Kind::unavailable, true);
  }
  void expect_new_session(const std::string& statement, const std::string& sqlstate) {
    auto session = connect(address);
    expect(session, statement, sqlstate, Error::Kind::unavailable, false);
  }
  void wait_for_query(const std::string& like) {
    ASSERT_TRUE(eventually([&] {
      return sql.number(
                 "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()"
                 " AND query LIKE '" +
                 like + "%'") == 1;
    }));
  }

  const DatabaseAddress hasty{as_role(url, "waybill_host"), "waybill", short_times()};
};

// E4
TEST_F(Sqlstates, WhatCanNeverSucceedIsFinal) {
  expect_final("SELECT 'x'::int", "22P02");
  expect_final("SELECT convert_from('\\xff', 'UTF8')", "22021");
  expect_final("SELECT 1/0", "22012");
}

// E4
TEST_F(Sqlstates, ABrokenConstraintIsFinal) {
  submit_many(1);
  expect_final("INSERT INTO submissions SELECT * FROM submissions", "23505");
  expect_final("INSERT INTO target_outages (org_id) VALUES (NULL)", "23502");
  expect_final("SELEC 1", "42601");
  expect_final("SELECT array_fill(0, ARRAY[2000000000])", "54000");
}

// E4: people mend these while we run
TEST_F(Sqlstates, WhatIsMissingMayCome) {
  expect_new_session("DELETE FROM submissions", "42501");
  expect_new_session("SELECT * FROM not_there", "42P01");
  expect_new_session("SELECT not_there FROM submissions", "42703");
  expect_new_session("SELECT not_there(1)", "42883");
  expect_new_session("SELECT 1::not_there", "42704");
}

// E4
TEST_F(Sqlstates, AStatementThatDoesNotGetItsLockIsTriedAgain) {
  submit_many(1);
  SqlClient locker(url);
  locker.execute("BEGIN; LOCK TABLE waybill.submissions");
  auto session = connect(hasty);
  expect_waited_for(session, "SELECT * FROM submissions", "55P03");
  expect_waited_for(session, "BEGIN; LOCK TABLE submissions NOWAIT", "55P03");
}

// E4
TEST_F(Sqlstates, AStatementThatTakesTooLongOrIsCancelledIsTriedAgain) {
  auto quick = hasty;
  quick.timeouts.maintenance = Millis(100);
  auto session = connect(quick);
  expect_waited_for(session, "SELECT pg_sleep(3600)", "57014");
  auto cancelled = connect(address);
  std::thread administrator([&] {
    wait_for_query("SELECT pg_sleep(3601)");
    sql.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(3601)%'");
  });
  expect_waited_for(cancelled, "SELECT pg_sleep(3601)", "57014");
  administrator.join();
}

// E4
TEST_F(Sqlstates, ASessionThatAnAdministratorEndsIsReplaced) {
  auto session = connect(address);
  std::thread administrator([&] {
    wait_for_query("SELECT pg_sleep(3602)");
    sql.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(3602)%'");
  });
  const auto done = session.script("SELECT pg_sleep(3602)");
  administrator.join();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, Error::Kind::unavailable) << done.error().what;
  EXPECT_FALSE(session.is_open());
}

// E4: libpqxx 6 gives no SQLSTATE for these two
TEST_F(Sqlstates, ADeadlockAndASerialisationFailureAreTriedAgain) {
  sql.execute("CREATE TABLE two (n int PRIMARY KEY); INSERT INTO two VALUES (1), (2); GRANT ALL ON two TO waybill_app");
  auto one = connect(address), other = connect(address);
  ASSERT_TRUE(one.script("BEGIN; UPDATE two SET n = n WHERE n = 1"));
  ASSERT_TRUE(other.script("BEGIN; UPDATE two SET n = n WHERE n = 2"));
  Result<Rows> first = fail(Error::Kind::bug, "not run");
  std::thread runs([&] { first = one.script("UPDATE two SET n = n WHERE n = 2"); });
  const auto second = other.script("UPDATE two SET n = n WHERE n = 1");
  if (!second) static_cast<void>(other.script("ROLLBACK"));
  runs.join();
  ASSERT_NE(first.has_value(), second.has_value());
  const auto& lost = first ? second : first;
  EXPECT_EQ(lost.error().kind, Error::Kind::unavailable) << lost.error().what;
  static_cast<void>(one.script("ROLLBACK"));
  static_cast<void>(other.script("ROLLBACK"));

  ASSERT_TRUE(one.script("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM two"));
  ASSERT_TRUE(other.script("UPDATE two SET n = 3 WHERE n = 1"));
  const auto late = one.script("UPDATE two SET n = 4 WHERE n = 1");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, Error::Kind::unavailable) << late.error().what;
  EXPECT_TRUE(one.is_open());
}

// E4
TEST_F(Sqlstates, AServerThatIsFullOrReadOnlyIsWaitedFor) {
  expect_new_session("BEGIN READ ONLY; INSERT INTO hosts (name) VALUES ('x')", "25006");
  auto full = connect(owner);  // a superuser, who may set this
  ASSERT_TRUE(full.script("SET temp_file_limit TO '64kB'; SET work_mem TO '64kB'"));
  expect_waited_for(full, "SELECT count(*) FROM (SELECT g, repeat('x', 100) FROM generate_series(1, 100000) g ORDER BY 2, 1) x",
                    "53400");
  sql.execute("ALTER DATABASE " + sql.text("SELECT current_database()") + " CONNECTION LIMIT 0");
  const auto refused = Connection::open(address, "test");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::unavailable);
  sql.execute("ALTER DATABASE " + sql.text("SELECT current_database()") + " CONNECTION LIMIT -1");
  EXPECT_TRUE(Connection::open(address, "test"));
}

// E4: such a session would refuse the statement for ever
TEST_F(Sqlstates, APreparedStatementThatIsNoGoodAnyMoreCostsTheSession) {
  constexpr Statement kAll{"all_of_it", "SELECT * FROM grows"};
  sql.execute("CREATE TABLE grows (n int); GRANT ALL ON grows TO waybill_app");
  auto session = connect(address);
  ASSERT_TRUE(session.run(kAll));
  sql.execute("ALTER TABLE grows ADD COLUMN m int");
  const auto changed = session.run(kAll);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().kind, Error::Kind::unavailable) << changed.error().what;
  EXPECT_FALSE(session.is_open());
  auto next = connect(address);
  ASSERT_TRUE(next.run(kAll));
  ASSERT_TRUE(next.script("DEALLOCATE ALL"));
  EXPECT_EQ(next.run(kAll).error().kind, Error::Kind::unavailable);
  EXPECT_FALSE(next.is_open());
}

// ---- what that means for a settlement ----

class NoClock final : public Clock {
 public:
  Monotonic now() const override { return std::chrono::steady_clock::now(); }
  std::int64_t unix_seconds() const override { return 0; }
};

class KeptSettlements : public Sqlstates {
 protected:
  Finished finished(const std::string& reference, const std::string& detail = "no such number") {
    submit({item(reference)});
    const auto row = claim(route(), 1, {++tokens_given}).rows.at(0);
    Finished one{.job = {.delivery = row.delivery,
                         .submission = row.submission,
                         .org = row.org,
                         .route = row.route,
                         .token = {tokens_given},
                         .created = row.created,
                         .contract = std::make_shared<const Contract>(contract_of("sms.primary")),
                         .kind = "intent",
                         .idempotency_key = reference},
                 .how = Finished::How::attempted,
                 .started_at = row.created,
                 .finished_at = row.created + Seconds(1)};
    one.outcome = Outcome{.verdict = Verdict::rejected, .reach = Reach::answered, .reason = "invalid_request", .detail = detail};
    return one;
  }
  void start(const DatabaseAddress& to) {
    store = make_settle_store(to);
    settler = std::make_unique<Settler>(
        *store, answers, clock, SettlerSettings{.actor = "box:1", .retry = {{"default", {}}}}, [] { return 0; },
        [this](const Settler::WriteResult& written) {
          unwritten += written.unwritten.size();
          all += written.batch.size();
        },
        log, metrics);
    settler->start();
  }
  std::string state() {
    return sql.text("SELECT string_agg(client_ref || ' ' || state, ', ' ORDER BY client_ref) FROM submission_states");
  }

  std::int64_t tokens_given = 0;
  NoClock clock;
  Answers answers;
  Log log{Log::Level::error, Log::Format::json};
  Metrics metrics;
  std::atomic<std::size_t> unwritten{0}, all{0};
  std::unique_ptr<SettleStore> store;
  std::unique_ptr<Settler> settler;
};

// E4: it was taken for a bug of ours, and each delivery of the batch was sent again
TEST_F(KeptSettlements, WaitForALock) {
  std::vector<Finished> batch;
  batch.push_back(finished("a"));
  batch.push_back(finished("b"));
  SqlClient locker(url);
  locker.execute("BEGIN; LOCK TABLE waybill.attempts");
  start(hasty);
  settler->take(std::move(batch));
  ASSERT_TRUE(eventually([&] {  // it has given up once at least
    return sql.number(
               "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waybill-settle'"
               " AND query_start > backend_start + interval '300 milliseconds' AND wait_event_type = 'Lock'") == 1;
  }));
  locker.execute("COMMIT");
  ASSERT_TRUE(eventually([&] { return all == 2; }));
  EXPECT_EQ(unwritten, 0u);
  EXPECT_EQ(state(), "a rejected, b rejected");
}

// E4: somebody's open transaction holds one row; it stalled all settlements of the host
TEST_F(KeptSettlements, AreNotHeldUpByARowThatSomebodyHoldsLocked) {
  std::vector<Finished> batch;
  for (const char* reference : {"a", "b", "c"}) batch.push_back(finished(reference));
  const auto held = std::to_string(batch[1].job.delivery.value);
  RowLock lock(url, batch[1].job.delivery);
  start(hasty);
  settler->take(std::move(batch));
  ASSERT_TRUE(eventually([&] { return all == 2; }));
  EXPECT_EQ(state(), "a rejected, b pending, c rejected");
  std::vector<Finished> next;
  next.push_back(finished("d"));
  settler->take(std::move(next));
  ASSERT_TRUE(eventually([&] { return all == 3; }));
  EXPECT_EQ(state(), "a rejected, b pending, c rejected, d rejected");
  lock.release();
  ASSERT_TRUE(eventually([&] { return all == 4; }));
  EXPECT_EQ(unwritten, 0u);
  EXPECT_EQ(state(), "a rejected, b rejected, c rejected, d rejected");
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts WHERE delivery_id = " + held), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts"), 4);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log"), 4);
}

// E4
TEST_F(KeptSettlements, LeaveWhatStaysLockedToItsLease) {
  std::vector<Finished> batch;
  batch.push_back(finished("a"));
  batch.push_back(finished("b"));
  const RowLock lock(url, batch[0].job.delivery);
  start(hasty);
  settler->take(std::move(batch));
  ASSERT_TRUE(eventually([&] { return all == 1; }));
  settler->stop(Millis(0));
  EXPECT_EQ(all, 2u);
  EXPECT_EQ(unwritten, 1u);
  EXPECT_EQ(state(), "a pending, b rejected");
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE status = 'claimed'"), 1);
}

// E4
TEST_F(KeptSettlements, WaitForARightThatIsMissing) {
  std::vector<Finished> batch;
  batch.push_back(finished("a"));
  sql.execute("REVOKE INSERT ON attempts FROM waybill_app");
  start(address);
  const auto refusals = [&] {
    return sql.number("SELECT sum(xact_rollback) FROM pg_stat_database WHERE datname = current_database()");
  };
  const auto before = refusals();
  settler->take(std::move(batch));
  ASSERT_TRUE(eventually([&] {
    sql.execute("SELECT pg_stat_clear_snapshot()");
    return all > 0 || refusals() > before + 2;
  }));
  EXPECT_EQ(all, 0u) << "given up";
  sql.execute("GRANT INSERT ON attempts TO waybill_app");
  ASSERT_TRUE(eventually([&] { return all == 1; }));
  EXPECT_EQ(unwritten, 0u);
  EXPECT_EQ(state(), "a rejected");
}

// E4: what a receiver said is no UTF-8; that it rejected the delivery is on record all the same
TEST_F(KeptSettlements, AreWrittenWithoutTheDetailThatTheDatabaseRefuses) {
  std::vector<Finished> batch;
  batch.push_back(finished("a"));
  batch.push_back(finished("b", "bad \xff byte"));
  start(address);
  settler->take(std::move(batch));
  ASSERT_TRUE(eventually([&] { return all == 2; }));
  EXPECT_EQ(unwritten, 0u);
  EXPECT_EQ(state(), "a rejected, b rejected");
  EXPECT_EQ(sql.text("SELECT string_agg(outcome || ' ' || reason, ', ') FROM attempts"),
            "rejected invalid_request, rejected invalid_request");
}

}  // namespace
}  // namespace waybill::testing
