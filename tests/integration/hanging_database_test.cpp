// A database that hangs, is replaced, or only reads: clients are told in time, nothing acknowledged is lost, hosts go on.  E11
#include <gtest/gtest.h>
#include <signal.h>

#include "support/database_proxy.h"
#include "support/postgres_standby.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using Flow = DatabaseProxy::Flow;
using Moment = DatabaseProxy::Moment;

constexpr auto kShortTimes = "timeouts: {answer: 3s, drain: 1s}\n";

class HangingDatabase : public World {
 protected:
  HangingDatabase() {
    setup.database_url = proxy.url();
    setup.more = kShortTimes;
  }
  std::string readiness() {
    const auto said = client().get("/readyz");
    return said.status == 200 ? "ready" : std::to_string(said.status) + " " + said.body;
  }

  const std::string direct_url = setup.database_url;
  SqlClient direct{direct_url};
  DatabaseProxy proxy{direct_url};
};

// E11
TEST_F(HangingDatabase, RequestsAreAnsweredReadyzTellsAndAllGoesOnWhenItEnds) {
  ASSERT_EQ(post_intent(client(), sms_intent("before", "sms.attempts")).status, 200);
  EXPECT_EQ(wait_for_end(client(), "before")["status"], "accepted");
  proxy.set(Flow::stalled);
  const auto posted = post_intent(client(), sms_intent("meanwhile", "sms.attempts"));
  EXPECT_EQ(posted.status, 503) << posted.body;
  EXPECT_EQ(client().get("/v1/intents/before").status, 503);
  EXPECT_EQ(post_intent(client(), intent("unknown", "no.such.target", {})).status, 503);
  ASSERT_TRUE(eventually([&] { return readiness().find("has not answered for") != std::string::npos; })) << readiness();
  EXPECT_EQ(client().get("/healthz").status, 200);

  proxy.set(Flow::open);
  ASSERT_TRUE(eventually([&] { return readiness() == "ready"; })) << readiness();
  ASSERT_TRUE(eventually([&] { return post_intent(client(), sms_intent("meanwhile", "sms.attempts")).status == 200; }));
  EXPECT_EQ(wait_for_end(client(), "meanwhile")["status"], "accepted");
  EXPECT_EQ(gateway.count("meanwhile"), 1u);
}

// T21: what waited for a session past its patience is dropped; its client has 503 by then, and the log says so
TEST_F(HangingDatabase, RequestsThatWaitedForTooLongAreToldInTheLog) {
  ASSERT_EQ(client().get("/v1/intents/warm").status, 404);
  proxy.set(Flow::stalled);
  std::vector<Socket> held;
  for (int i = 0; i < 8; ++i) {  // more than there are readers
    held.push_back(Socket::connect(host().port()));
    ASSERT_TRUE(held.back().send("GET /v1/intents/held HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  }
  for (auto& one : held) {
    const auto answer = one.receive(kBound);
    ASSERT_TRUE(answer);
    EXPECT_NE(answer->find(" 503 "), std::string::npos) << *answer;
  }
  proxy.set(Flow::open);
  EXPECT_TRUE(host().wait_for_log("requests.dropped"));
}

// E11
TEST_F(HangingDatabase, ATokenThatCannotBeLookedUpInTimeIs503) {
  setup.auth = "tokens";
  host();
  proxy.set(Flow::stalled);
  const auto said = client().request("GET", "/v1/intents/x", "", {{"Authorization", "Bearer wbt_nobody"}});
  EXPECT_EQ(said.status, 503) << said.body;
}

// E11
TEST_F(HangingDatabase, DoesNotHoldUpTheEndOfAHost) {
  gateway.script("out", {Reply::hang()});
  post_intent(client(), sms_intent("out", "sms.attempts"));
  ASSERT_TRUE(gateway.wait_for_count("out", 1));
  proxy.set(Flow::stalled);
  ASSERT_EQ(post_intent(client(), sms_intent("meanwhile", "sms.attempts")).status, 503);
  ASSERT_EQ(client().get("/v1/intents/out").status, 503);
  host().signal(SIGTERM);
  EXPECT_TRUE(host().wait().has_value()) << "with a drain of 1 s";
}

// E11: the client was told 503, so it hands in again; that finds what was stored
TEST_F(HangingDatabase, ACommitWhoseAnswerIsLostIsFoundByHandingInAgain) {
  client();
  proxy.cut_at("submit", Moment::answered, "waybill-intake", DatabaseProxy::Backend::ends);
  const auto first = post_intent(client(), sms_intent("once", "sms.attempts"));
  ASSERT_TRUE(eventually([&] { return proxy.cuts() == 1; }));
  ASSERT_TRUE(first.status == 200 || first.status == 503) << first.status;
  EXPECT_EQ(post_intent(client(), sms_intent("once", "sms.attempts")).status, 200);
  EXPECT_EQ(wait_for_end(client(), "once")["status"], "accepted");
  EXPECT_EQ(direct.number("SELECT count(*) FROM waybill.submissions"), 1);
  EXPECT_EQ(gateway.count("once"), 1u);
}

// ---- a primary and its standby ----

class Failover : public World {
 protected:
  Failover() {
    setup.database_url = standby.either(primary_url) + "&connect_timeout=2";
    setup.more = "timeouts: {answer: 3s, drain: 1s, lease: 1h}\n";
  }
  ~Failover() override { give_up_host(); }
  // Sessions find the other server one after the other; until then a request may be answered 503.
  bool ends_accepted(const std::string& id) {
    return eventually([&] {
      const auto said = client().get("/v1/intents/" + id);
      return said.status == 200 && said.json()["status"] == "accepted";
    });
  }

  PostgresCluster primary;
  const std::string primary_url = primary.create_database();
  PostgresStandby standby{primary};
};

// E11
TEST_F(Failover, AHostGoesOnAtThePromotedStandbyWhileTheOldPrimaryHangs) {
  ASSERT_EQ(post_intent(client(), sms_intent("before", "sms.attempts")).status, 200);
  EXPECT_EQ(wait_for_end(client(), "before")["status"], "accepted");
  primary.freeze();
  standby.promote();
  ASSERT_TRUE(eventually([&] { return post_intent(client(), sms_intent("after", "sms.attempts")).status == 200; }));
  EXPECT_TRUE(ends_accepted("after"));
  ASSERT_TRUE(eventually([&] { return client().get("/readyz").status == 200; }));
}

// E11: the standby knows that it was claimed, not that it was settled nor that its claim was deleted; its lease has an hour to go
TEST_F(Failover, WhatAStandbyHasForgottenIsTakenBackSoon) {
  gateway.script("forgotten", {Reply::accept_when_released(), Reply::accept()});
  ASSERT_EQ(post_intent(client(), sms_intent("forgotten", "sms.attempts")).status, 200);
  ASSERT_TRUE(gateway.wait_for_count("forgotten", 1));
  ASSERT_TRUE(
      eventually([&] { return SqlClient(standby.url_of(primary_url)).number("SELECT count(*) FROM waybill.claimed") == 1; }));
  standby.stop_receiving();
  gateway.release();
  EXPECT_EQ(wait_for_end(client(), "forgotten")["status"], "accepted");
  ASSERT_TRUE(eventually([&] { return SqlClient(primary_url).number("SELECT count(*) FROM waybill.claims") == 0; }));
  primary.freeze();
  standby.promote();
  EXPECT_TRUE(gateway.wait_for_count("forgotten", 2));
  EXPECT_TRUE(ends_accepted("forgotten"));
}

// ---- a database that a host cannot work with ----

// E11
TEST_F(Failover, AHostDoesNotStartOnAStandbyAndSaysWhy) {
  setup.database_url = standby.url_of(primary_url);
  const Installation place(setup);
  const auto refused = place.command({"serve"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("target_session_attrs=read-write"), std::string::npos) << refused.err;
}

// E11: its server became a standby, as a primary does that comes back after a failover
TEST_F(HangingDatabase, AHostWhoseServerOnlyReadsIsNotReady) {
  client();
  const auto database = direct.text("SELECT current_database()");
  direct.execute("ALTER DATABASE " + database + " SET default_transaction_read_only = on");
  proxy.cut();
  ASSERT_TRUE(eventually([&] { return readiness().find("takes no writes") != std::string::npos; })) << readiness();
  direct.execute("ALTER DATABASE " + database + " RESET default_transaction_read_only");
  ASSERT_TRUE(eventually([&] { return readiness() == "ready"; })) << readiness();
}

}  // namespace
}  // namespace waybill::testing
