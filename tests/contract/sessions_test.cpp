// Sessions on a bad network and on a server that hangs.
#include "contract/store_world.h"
#include "support/database_proxy.h"
#include "support/eventually.h"

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

}  // namespace
}  // namespace waybill::testing
