// Sessions on a bad network and on a server that hangs.
#include <thread>

#include "contract/store_world.h"
#include "store/operations/database_check.h"
#include "store/pg/session_watch.h"
#include "store/queue/host_liveness.h"
#include "support/database_proxy.h"
#include "support/eventually.h"
#include "support/transaction_pooler.h"

namespace waybill::testing {
namespace {

using Flow = DatabaseProxy::Flow;
using Moment = DatabaseProxy::Moment;

class Sessions : public StoreWorld {
 protected:
  DatabaseProxy proxy{url};
};

// The proxy itself: what the tests of this file and the campaigns rest on.
TEST_F(Sessions, TheProxyPassesStallsAndCuts) {
  SqlClient through(proxy.url());
  EXPECT_EQ(through.number("SELECT 1"), 1);
  EXPECT_EQ(proxy.open(), 1u);
  EXPECT_EQ(proxy.open("somebody else"), 0u);

  proxy.set(Flow::stalled);
  std::thread waits([&] { EXPECT_EQ(through.number("SELECT 2"), 2); });
  EXPECT_EQ(sql.number("SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT 2'"), 0);
  proxy.set(Flow::mute);
  EXPECT_TRUE(eventually([&] { return sql.number("SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT 2'") == 1; }));
  proxy.set(Flow::open);
  waits.join();

  proxy.cut_at("kept_rows", Moment::answered, "", DatabaseProxy::Backend::ends);
  EXPECT_ANY_THROW(through.execute("CREATE TABLE kept_rows (n int)"));
  EXPECT_EQ(proxy.cuts(), 1u);
  EXPECT_EQ(sql.number("SELECT count(*) FROM pg_class WHERE relname = 'kept_rows'"), 1);
  proxy.refuse(true);
  EXPECT_FALSE(SqlClient::can_connect(proxy.url()));
  proxy.refuse(false);
  EXPECT_TRUE(SqlClient::can_connect(proxy.url()));
}

TEST_F(Sessions, TheProxyCutsAClientWhoseBackendGoesOn) {
  SqlClient through(proxy.url());
  sql.execute("CREATE TABLE goes_on (n int)");
  SqlClient locker(url);
  locker.execute("BEGIN; LOCK TABLE waybill.goes_on");
  proxy.cut_at("INSERT", Moment::sent);
  EXPECT_ANY_THROW(through.execute("INSERT INTO waybill.goes_on VALUES (1)"));
  locker.execute("COMMIT");
  EXPECT_TRUE(eventually([&] { return sql.number("SELECT count(*) FROM goes_on") == 1; }));
  EXPECT_EQ(proxy.end_backends(), 1u);
}

// ---- what is held to a deadline ----

class Deadlines : public Sessions {
 protected:
  Deadlines() { through.watch = watch; }
  static std::int64_t settings(Connection& session, const std::string& name) {
    const auto shown = session.script("SELECT setting FROM pg_settings WHERE name = '" + name + "'");
    return shown ? shown->number(0, 0) : -1;
  }

  const std::shared_ptr<SessionWatch> watch = std::make_shared<SessionWatch>();
  DatabaseAddress through{as_role(proxy.url(), "waybill_host"), "waybill", {.read = Millis(100)}};
};

// E11
TEST_F(Deadlines, EachPurposeHasItsOwnWithTheServerAndMigrationsHaveNone) {
  const auto of = [&](const char* purpose) {
    auto session = Connection::open(address, purpose);
    EXPECT_TRUE(session) << session.error().what;
    return std::pair(settings(*session, "statement_timeout"), settings(*session, "lock_timeout"));
  };
  EXPECT_EQ(of("liveness"), std::pair(std::int64_t{2000}, std::int64_t{3000}));
  EXPECT_EQ(of("intake"), std::pair(std::int64_t{5000}, std::int64_t{3000}));
  EXPECT_EQ(of("settle"), std::pair(std::int64_t{15000}, std::int64_t{3000}));
  EXPECT_EQ(of("tasks"), std::pair(std::int64_t{120000}, std::int64_t{3000}));
  EXPECT_EQ(of("migrate"), std::pair(std::int64_t{0}, std::int64_t{0}));
}

// E11
TEST_F(Deadlines, AStatementWithoutAnAnswerIsUnavailableInItsTimeAndTheNextOneConnectsAnew) {
  submit_many(1);
  const auto store = make_read_store(through, 1);
  const auto finds_it = [&] {  // on a slow machine connecting may take longer than a statement may: it is tried again
    return eventually([&] {
      const auto found = store->find(kDefaultOrg, "intent", "ref-0");
      return found && found->has_value();
    });
  };
  ASSERT_TRUE(finds_it());
  proxy.set(Flow::stalled);
  const auto hung = store->find(kDefaultOrg, "intent", "ref-0");
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().kind, Error::Kind::unavailable) << hung.error().what;
  proxy.set(Flow::open);
  ASSERT_TRUE(finds_it());
}

// E11
TEST_F(Deadlines, AServerThatTakesConnectionsAndSaysNothingIsUnavailable) {
  proxy.set(Flow::stalled);
  auto to = through;
  to.url += "?connect_timeout=2";
  const auto opened = Connection::open(to, "read");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, Error::Kind::unavailable) << opened.error().what;
}

// E11
TEST_F(Deadlines, WhenAHostStopsNothingOutlivesTheEnd) {
  auto slow = through;
  slow.timeouts.settle = std::chrono::hours(1);
  auto session = Connection::open(slow, "settle");
  ASSERT_TRUE(session) << session.error().what;
  proxy.set(Flow::stalled);
  std::thread stops([&] { watch->stop_at(std::chrono::steady_clock::now() + Millis(100)); });
  const auto cut = session->script("SELECT 1");
  stops.join();
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, Error::Kind::unavailable) << cut.error().what;
  EXPECT_TRUE(watch->is_over());
  EXPECT_FALSE(session->script("SELECT 1")) << "nothing begins any more";
  EXPECT_FALSE(Connection::open(slow, "settle"));
}

// E11
TEST_F(Deadlines, TheWatchKnowsHowASessionDoes) {
  EXPECT_EQ(watch->health("liveness").good_at, SessionWatch::Time{});
  HostLiveness liveness(through, "box:1");
  ASSERT_TRUE(liveness.keep());
  const auto first = watch->health("liveness");
  EXPECT_EQ(first.sessions, 1u);
  EXPECT_GT(first.good_at, SessionWatch::Time{});
  proxy.cut();
  ASSERT_TRUE(eventually([&] { return liveness.keep().has_value(); }));
  EXPECT_GT(watch->health("liveness").sessions, first.sessions) << "each try that gets as far is one";
  EXPECT_GT(watch->health("liveness").good_at, first.good_at);
}

// E11: whoever shares a server with it hangs as well
TEST_F(Deadlines, WhenTheSignOfLifeIsCutTheOthersConnectAnewAndWaitNoLonger) {
  auto patient = through;
  patient.timeouts = {.settle = std::chrono::hours(1), .maintenance = std::chrono::hours(1), .liveness = Millis(100)};
  HostLiveness liveness(patient, "box:1");
  ASSERT_TRUE(eventually([&] { return liveness.keep().has_value(); })) << "on a slow machine one may take longer than it may";
  auto idle = Connection::open(patient, "tasks"), busy = Connection::open(patient, "settle");
  ASSERT_TRUE(idle && busy);
  proxy.set(Flow::stalled);
  Result<Rows> done = Rows();
  std::thread runs([&] { done = busy->script("SELECT 1"); });
  ASSERT_TRUE(eventually([&] { return !idle->is_open() || !liveness.keep(); }));
  runs.join();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, Error::Kind::unavailable);
  EXPECT_TRUE(eventually([&] { return !idle->is_open(); }));
  proxy.set(Flow::open);
}

// E11
TEST_F(Deadlines, AServerThatOnlyReadsIsRefusedByWhoWrites) {
  sql.execute("ALTER ROLE waybill_host SET default_transaction_read_only = on");
  const AtEnd undo([&] { sql.execute("ALTER ROLE waybill_host RESET default_transaction_read_only"); });
  const auto refused = Connection::open(through, "liveness");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::unavailable);
  EXPECT_NE(refused.error().what.find("default_transaction_read_only"), std::string::npos) << refused.error().what;
  EXPECT_NE(watch->health("liveness").refusal.find("takes no writes"), std::string::npos);
  EXPECT_TRUE(Connection::open(through, "read"));
}

// E8: acknowledged is durable
TEST_F(Deadlines, CommitsWaitForTheirDiskWhateverIsSet) {
  const auto used = [&](const std::string& setting) {
    sql.execute("ALTER ROLE waybill_host SET synchronous_commit = " + setting);
    auto session = Connection::open(address, "settle");
    const auto shown = session->script("SHOW synchronous_commit");
    return std::string(shown->text(0, 0));
  };
  const AtEnd undo([&] { sql.execute("ALTER ROLE waybill_host RESET synchronous_commit"); });
  EXPECT_EQ(used("remote_apply"), "remote_apply");
  EXPECT_EQ(used("local"), "local");
  const auto before = check_server(address);
  ASSERT_EQ(before->size(), 1u);
  EXPECT_NE(before->front().find("fsync is off"), std::string::npos) << before->front();  // as on every server of the tests
  EXPECT_EQ(used("off"), "on");
  const auto remarks = check_server(address);
  ASSERT_TRUE(remarks) << remarks.error().what;
  ASSERT_EQ(remarks->size(), 2u);
  EXPECT_NE(remarks->front().find("synchronous_commit is off"), std::string::npos) << remarks->front();
}

// E8
TEST_F(Deadlines, APoolerInTransactionModeIsRefused) {
  ASSERT_TRUE(check_server(through));
  const TransactionPooler pooler(as_role(url, "waybill_host"));
  const auto refused = check_server({pooler.url(), "waybill"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::invalid);
  EXPECT_NE(refused.error().what.find("pool_mode = session"), std::string::npos) << refused.error().what;
}

// E11
TEST_F(Deadlines, RightsThatAreMissingAreNamed) {
  ASSERT_TRUE(check_rights(address)) << check_rights(address).error().what;
  sql.execute(
      "REVOKE INSERT ON attempts FROM waybill_app; REVOKE UPDATE (revoked_at) ON api_tokens FROM waybill_app;"
      " REVOKE USAGE ON SEQUENCE object_ids FROM waybill_app, waybill_tenant");
  const auto missing = check_rights(address);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, Error::Kind::invalid);
  EXPECT_NE(missing.error().what.find("role \"waybill_host\" lacks rights in schema \"waybill\": INSERT on attempts, UPDATE"
                                      " (revoked_at) on api_tokens, USAGE on sequence object_ids."),
            std::string::npos)
      << missing.error().what;
}

// N3: under forced policies an owner without one would see an empty queue
TEST_F(Deadlines, RowsThatAreHiddenAreNamed) {
  sql.execute("DROP POLICY application ON ready");
  const auto hidden = check_rights(address);
  ASSERT_FALSE(hidden);
  EXPECT_NE(hidden.error().what.find(": a policy that shows the rows of ready. Run `waybill roles`"), std::string::npos)
      << hidden.error().what;
  ASSERT_TRUE(set_up_roles({url, "waybill"}, {}, {}));
  EXPECT_TRUE(check_rights(address));
}

}  // namespace
}  // namespace waybill::testing
