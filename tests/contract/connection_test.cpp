// Sessions that die: an error that can be waited out, and a new session with the next call.  M12
#include <unistd.h>

#include "contract/store_world.h"
#include "store/queue/host_liveness.sql.h"
#include "support/eventually.h"

#if defined(__SANITIZE_ADDRESS__)
// libpqxx 6.4 loses the result of the statement during which it finds its session dead: 2 KB for each lost session.
extern "C" const char* __lsan_default_suppressions() { return "leak:pqxx::connection_base::\nleak:libpqxx-6.4.so\n"; }
#endif

namespace waybill::testing {
namespace {

class Connections : public StoreWorld {
 protected:
  void kill_sessions() {
    const std::string of =
        "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client "
        "backend'";
    sql.rows("SELECT pg_terminate_backend(pid) " + of);
    ASSERT_TRUE(eventually([&] { return sql.number("SELECT count(*) " + of) == 0; }));
  }

  // Calls once on a dead session, which must say so, and then until it works.
  template <class Call>
  void expect_recovery(Call call) {
    ASSERT_TRUE(call().has_value());
    kill_sessions();
    const auto lost = call();
    ASSERT_FALSE(lost.has_value());
    EXPECT_EQ(lost.error().kind, Error::Kind::unavailable) << lost.error().what;
    const auto next = call();
    EXPECT_TRUE(next.has_value()) << next.error().what;
  }
};

TEST_F(Connections, AWritingStoreSaysUnavailableOnceAndThenWorks) {
  const std::vector<NewSubmission> items{item("a")};
  const std::vector<Settlement> nothing;
  const std::vector<RouteShare> shares{{route(), 1, {}, {}}};
  expect_recovery([&] { return intake->submit(0, items, std::nullopt); });
  expect_recovery([&] { return queue->due_routes(0); });
  expect_recovery([&] { return queue->claim(0, {1}, {1}, Millis(1000), shares, {}, kAnyBytes); });
  expect_recovery([&] { return settle->settle(0, nothing); });
  expect_recovery([&] { return maintenance->queue_state(); });
  EXPECT_EQ(sql.number("SELECT count(*) FROM submissions"), 1);
}

TEST_F(Connections, AReadingStoreDoesNotShowIt) {
  submit({item("a")});
  ASSERT_TRUE(reader->find(kDefaultOrg, "intent", "a"));
  ASSERT_TRUE(tokens->find(sha256("x")));
  kill_sessions();
  const auto found = reader->find(kDefaultOrg, "intent", "a");
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_TRUE(found->has_value());
  EXPECT_TRUE(tokens->find(sha256("x")));
}

// T3: over a socket of the machine itself the server ignores them, so their values cannot be read here, only over TCP below
TEST_F(Connections, TheServerIsToldToGiveUpClientsThatItCannotReach) {
  constexpr Statement kSet{
      "kept_alive", "SELECT string_agg(name, ' ' ORDER BY name) FROM pg_settings WHERE source = 'session' AND name LIKE 'tcp%'"};
  for (const auto* purpose : {"settle", "read", "liveness"}) {
    Link link(address, purpose);
    const auto set = link.run(kSet);
    ASSERT_TRUE(set) << set.error().what;
    EXPECT_EQ(set->text(0, 0), "tcp_keepalives_count tcp_keepalives_idle tcp_keepalives_interval tcp_user_timeout") << purpose;
  }
}

// T3. An address of its own in 127.0.0.0/8, so that no other server has the port.
TEST(ConnectionsOverTcp, TheServerGivesUpClientsThatItCannotReachInTime) {
  const auto process = static_cast<unsigned>(::getpid());
  const auto address = "127." + std::to_string(128 + (process >> 14) % 127) + "." + std::to_string((process >> 7) % 128) + "." +
                       std::to_string(1 + process % 128);
  PostgresCluster server({}, address);
  const auto url = server.create_database();
  ASSERT_TRUE(migrate({url, "waybill"}));
  const auto name = url.substr(url.find('@') + 2, url.find('?') - url.find('@') - 2);
  const DatabaseAddress tcp{"postgresql://postgres@" + address + ":5432/" + name, "waybill"};
  constexpr Statement kInForce{
      "kept_alive",
      "SELECT concat_ws(' ', current_setting('tcp_keepalives_idle'), current_setting('tcp_keepalives_interval'),"
      " current_setting('tcp_keepalives_count'), current_setting('tcp_user_timeout'))"};
  auto settling = Connection::open(tcp, "settle");
  ASSERT_TRUE(settling) << settling.error().what;
  EXPECT_EQ(settling->run(kInForce)->text(0, 0), "30 5 3 60000");
  auto living = Connection::open(tcp, "liveness");
  ASSERT_TRUE(living) << living.error().what;
  const auto told = living->run(sql::host_session, {"13000"});
  ASSERT_TRUE(told) << told.error().what;
  EXPECT_EQ(living->run(kInForce)->text(0, 0), "13 5 3 13000") << "a lease";
}

// What has not begun can begin anew: nobody is told that a session was found dead.
TEST_F(Connections, ATransactionBeginsAnewWhereItsSessionWasDead) {
  const auto forms = make_form_store(owner, 1, Millis(1000));
  ASSERT_TRUE(forms->find(kDefaultOrg, "nobody"));
  kill_sessions();
  const auto found = forms->find(kDefaultOrg, "nobody");
  EXPECT_TRUE(found) << found.error().what;
}

TEST_F(Connections, AServerThatIsAwayIsUnavailableUntilItIsBack) {
  const std::vector<NewSubmission> items{item("a")};
  submit(items);
  ::waybill::testing::cluster().stop(PostgresCluster::Stop::immediate);
  const auto away = intake->submit(0, items, std::nullopt);
  const auto also_away = intake->submit(0, items, std::nullopt);
  const auto not_read = reader->find(kDefaultOrg, "intent", "a");
  ::waybill::testing::cluster().start();
  for (const auto* kind : {&away, &also_away}) {
    ASSERT_FALSE(*kind);
    EXPECT_EQ(kind->error().kind, Error::Kind::unavailable) << kind->error().what;
  }
  ASSERT_FALSE(not_read);
  EXPECT_EQ(not_read.error().kind, Error::Kind::unavailable);
  const auto back = intake->submit(0, items, std::nullopt);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ((*back)[0].how, SubmitResult::How::existing) << "what was acknowledged is there";
}

struct NamedRow : AnyRow {
  using AnyRow::AnyRow;
  std::int64_t count() const { return get_number(0); }
  std::optional<std::string_view> word() const { return find_text(1); }
  std::optional<bool> is_on() const { return find_flag(2); }
};
constexpr Column kNamed[] = {
    {"count", Column::Kind::number, false}, {"word", Column::Kind::text, true}, {"is_on", Column::Kind::flag, true}};

// What a statement answers is what it says, or its error names the column.  E4
TEST_F(Connections, AnAnswerIsReadByTheNamesOfItsColumns) {
  constexpr Query<NamedRow> kGood{{"good", "VALUES (7, NULL, true), (8, 'eight', NULL)", kNamed}};
  constexpr Query<NamedRow> kNull{{"with_null", "VALUES (7, 'seven', true), (NULL, 'none', false)", kNamed}};
  constexpr Query<NamedRow> kShort{{"too_short", "VALUES (7, 'seven')", kNamed}};
  auto connection = Connection::open(owner, "test");
  ASSERT_TRUE(connection) << connection.error().what;
  for (const auto& [query, why] :
       {std::pair(kNull, "with_null: count is null"), {kShort, "too_short: it answers 2 columns, not 3"}}) {
    const auto refused = connection->run(query);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Error::Kind::bug);
    EXPECT_EQ(refused.error().what, why);
    EXPECT_TRUE(connection->is_open());
  }
  const auto rows = connection->run(kGood);
  ASSERT_TRUE(rows) << rows.error().what;
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->front().count(), 7);
  EXPECT_FALSE(rows->front().word());
  EXPECT_EQ(rows->front().is_on(), true);
  EXPECT_EQ((*rows)[1].word(), "eight");
  EXPECT_FALSE((*rows)[1].is_on());
  EXPECT_EQ((*rows)[2].count(), 0) << "not there";
  EXPECT_FALSE((*rows)[2].word());
}

// A plan for an empty table reads all of it for each row that it looks for.
TEST_F(Connections, PlansFollowTablesThatAreFilled) {
  auto connection = Connection::open(owner, "test");
  ASSERT_TRUE(connection) << connection.error().what;
  sql.execute("VACUUM ANALYZE ready");
  constexpr Statement kProbe{"probe", R"(
    SELECT r.delivery_id FROM unnest($1::bigint[]) AS t(id) JOIN ready r ON r.shard = 0 AND r.delivery_id = t.id)"};
  const auto probes_by_key = [&] {
    const auto found = connection->run(kProbe, {"{1}"});
    EXPECT_TRUE(found) << found.error().what;
    const auto plan = connection->script("EXPLAIN (FORMAT JSON) EXECUTE probe('{1}')");
    return plan && plan->text(0, 0).find("(delivery_id = t.id)") != std::string_view::npos &&
           plan->text(0, 0).find("Join Filter") == std::string_view::npos;
  };
  ASSERT_FALSE(probes_by_key());
  sql.execute(
      "INSERT INTO ready (shard, action_order, org_id, delivery_id, submission_id, due_at, route_id, status)"
      " SELECT 0, 1, 1, n, n, now(), 1, 'due' FROM generate_series(1, 10000) n");
  EXPECT_TRUE(eventually(probes_by_key));
}

TEST_F(Connections, ASchemaThatIsNotThereMayComeAndIsNoCrash) {
  const auto found = make_read_store({url, "elsewhere"}, 1)->find(kDefaultOrg, "intent", "a");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, Error::Kind::unavailable);
}

}  // namespace
}  // namespace waybill::testing
