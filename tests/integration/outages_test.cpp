// A receiver that is away, refuses our credentials or has too much to do, seen from outside: an outage is not the delivery's
// fault.  E14
#include <gtest/gtest.h>

#include <functional>

#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Outages : public World {
 protected:
  Outages() {
    setup.registry = registry_of({target("sms.four", "sms", gateway.url(), "max_attempts", 4, {"invalid_request"}),
                                  target("sms.once", "sms", gateway.url(), "one_shot", 0, {"invalid_request"}),
                                  target("sms.brief", "sms", gateway.url(), "deadline", 2, {"invalid_request"})});
  }

  static std::string id(int i) { return "order-" + std::to_string(i); }
  std::int64_t attempts_per_delivery() {
    return sql().number("SELECT coalesce(max(n), 0) FROM (SELECT count(*) n FROM waybill.attempts GROUP BY delivery_id) a");
  }
  std::int64_t counting() { return sql().number("SELECT count(*) FROM waybill.attempts WHERE counts"); }

  std::int64_t attempts() { return sql().number("SELECT count(*) FROM waybill.attempts"); }

  // The receiver is back when `has_lasted`.
  void outlasts(const Reply& reply, int deliveries, const std::function<bool()>& has_lasted) {
    gateway.by_default(reply);
    for (int i = 0; i < deliveries; ++i) ASSERT_EQ(post_intent(client(), sms_intent(id(i), "sms.four")).status, 200);
    ASSERT_TRUE(eventually(has_lasted));
    EXPECT_EQ(counting(), 0);
    EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.deliveries"), 0) << "nothing has ended";
    EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.target_outages"), 1);
    gateway.by_default(Reply::accept());
    for (int i = 0; i < deliveries; ++i) EXPECT_EQ(wait_for_end(client(), id(i))["status"], "accepted") << i;
    for (int i = 0; i < deliveries; ++i) {
      const auto attempts = history_of(client(), id(i))["attempts"];
      for (const auto& attempt : attempts) EXPECT_EQ(attempt["counts"], attempt["outcomeStatus"] == "accepted") << attempt;
      EXPECT_EQ(gateway.count(id(i)), attempts.size());
    }
  }
};

TEST_F(Outages, TooManyRequestsUseUpNobodysAttempts) {
  const int first = 26;
  outlasts(Reply::http_error(429), first, [&, probed = std::int64_t{0}]() mutable {
    if (probed == 0) probed = attempts() + 3;  // those that went out before anybody knew, and then one after another
    return attempts() >= probed;
  });
}
TEST_F(Outages, RefusedCredentialsUseUpNobodysAttempts) {
  outlasts(Reply::http_error(401), 1, [&] { return attempts_per_delivery() > 4; });
}

// T6: what a destination asks for in a header is bounded by the operator.
TEST_F(Outages, AReceiverMayAskForNoLongerThanTheOperatorSays) {
  setup.more = "timeouts: { retry_after: 2s }\n";
  gateway.by_default(Reply::too_many_requests(99'999));
  ASSERT_EQ(post_intent(client(), sms_intent("order-1", "sms.four")).status, 200);
  ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.target_outages") == 1; }));
  EXPECT_LE(sql().number("SELECT extract(epoch FROM max(until - since))::bigint FROM waybill.target_outages"), 2 + 1);
  gateway.by_default(Reply::accept());
  EXPECT_EQ(wait_for_end(client(), "order-1")["status"], "accepted");
}

// What a proxy answers whose service is away.
TEST_F(Outages, AProxysWordsUseUpNobodysAttempts) {  // T14
  for (const int status : {502, 504}) {
    gateway.by_default(Reply::http_error(status));
    const auto proxied = "proxied-" + std::to_string(status);
    ASSERT_EQ(post_intent(client(), sms_intent(proxied, "sms.four")).status, 200);
    ASSERT_TRUE(eventually([&] { return gateway.count(proxied) > 4; })) << "more often than its contract allows";
    gateway.by_default(Reply::accept());
    EXPECT_EQ(wait_for_end(client(), proxied)["status"], "accepted");
  }
  EXPECT_EQ(counting(), 2);
}

// Each 500 alone may be its delivery's fault: those of the first ten count, once each.
TEST_F(Outages, AServiceThatAnswers500ForAWhileExhaustsNothing) {  // T14
  setup.retry = "{kind: fixed, delay: 5s}";
  constexpr int kDeliveries = 40;
  gateway.by_default(Reply::http_error(500));
  for (int i = 0; i < kDeliveries; ++i) ASSERT_EQ(post_intent(client(), sms_intent(id(i), "sms.four")).status, 200);
  ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.target_outages") == 1; }));
  const auto known = attempts();
  ASSERT_TRUE(eventually([&] { return attempts() >= known + 3; })) << "its probes meet the same";
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.attempts WHERE counts AND number > 3"), 0);
  gateway.by_default(Reply::accept());
  for (int i = 0; i < kDeliveries; ++i) EXPECT_EQ(wait_for_end(client(), id(i))["status"], "accepted") << i;
}

TEST_F(Outages, ATargetMayWantEachAttemptCounted) {  // T14
  auto literal = target("sms.literal", "sms", gateway.url(), "max_attempts", 4, {"invalid_request"});
  literal["countOutages"] = true;
  setup.registry = registry_of({literal});
  gateway.by_default(Reply::http_error(503));
  post_intent(client(), sms_intent("four-times", "sms.literal"));
  EXPECT_EQ(word(wait_for_end(client(), "four-times"), "exhaustedReason"), "max_attempts");
  EXPECT_EQ(gateway.count("four-times"), 4u);
  EXPECT_EQ(counting(), 4);
}

TEST_F(Outages, AnOutageThatLastsTooLongUsesThemUpAfterAll) {
  setup.more = "timeouts: {outage: 100ms}\n";
  gateway.by_default(Reply::http_error(401));
  post_intent(client(), sms_intent("wrong", "sms.four"));
  const auto end = wait_for_end(client(), "wrong");
  EXPECT_EQ(word(end, "status"), "exhausted");
  EXPECT_EQ(word(end, "exhaustedReason"), "max_attempts");
  EXPECT_EQ(counting(), 4);
}

// Half-open, a host asks for the probe before what failed is due again: it may ask a second time.
TEST_F(Outages, AProbeThatFoundNothingToSendHoldsUpNobody) {
  setup.more = "timeouts: { attempt: 10m, lease: 20m, cooldown: 0ms, outage: 0ms }\n";
  gateway.by_default(Reply::http_error(503));
  for (int i = 0; i < 3; ++i) post_intent(client(), sms_intent(id(i), "sms.four"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(word(wait_for_end(client(), id(i)), "exhaustedReason"), "max_attempts") << i;
}

TEST_F(Outages, AOneShotIsStillOneAttemptAndADeadlineStillEndsOnTime) {
  gateway.by_default(Reply::http_error(503));
  post_intent(client(), sms_intent("once", "sms.once"));
  post_intent(client(), sms_intent("brief", "sms.brief"));
  EXPECT_EQ(word(wait_for_end(client(), "once"), "exhaustedReason"), "one_shot");
  const auto end = wait_for_end(client(), "brief");
  EXPECT_EQ(word(end, "exhaustedReason"), "deadline_exceeded");
  EXPECT_EQ(gateway.count("once"), 1u);
}

TEST_F(Outages, NothingIsSentBeforeTheReceiverSaid) {
  gateway.by_default(Reply::too_many_requests(600));
  post_intent(client(), sms_intent("first", "sms.four"), 30);
  post_intent(client(), sms_intent("second", "sms.four"));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.target_outages WHERE until > now() + interval '500 seconds'"), 1);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.ready WHERE due_at > now() + interval '500 seconds' AND uncounted = 1"), 1)
      << "the first is due when the target may be asked again";
  const auto explained = installation().command({"explain", "second", "--json"});
  EXPECT_EQ(json::parse(explained.out)["code"], "target_rests");
  EXPECT_EQ(gateway.count(), 1u);
}

// T6
TEST_F(Outages, ADestinationMayAskForAnHourAtMost) {
  gateway.by_default(Reply::too_many_requests(99'999'999));
  post_intent(client(), sms_intent("first", "sms.four"), 30);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.target_outages"
                         " WHERE until BETWEEN since + interval '59 minutes' AND since + interval '61 minutes'"),
            1);
}

TEST_F(Outages, AnOperatorEndsAnOutageThatHeKnowsToBeOver) {
  gateway.by_default(Reply::too_many_requests(600));
  post_intent(client(), sms_intent("first", "sms.four"), 30);
  post_intent(client(), sms_intent("second", "sms.four"));
  gateway.by_default(Reply::accept());
  const auto resumed = installation().command({"target", "resume", "sms.four"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(wait_for_end(client(), "first")["status"], "accepted") << "it had to wait for the cooldown's end";
  EXPECT_EQ(wait_for_end(client(), "second")["status"], "accepted");
  EXPECT_EQ(installation().command({"target", "resume", "sms.four"}).exit_code, 1) << "there is no outage any more";
  EXPECT_EQ(installation().command({"target", "resume", "sms.fuor"}).exit_code, 1);
}

}  // namespace
}  // namespace waybill::testing
