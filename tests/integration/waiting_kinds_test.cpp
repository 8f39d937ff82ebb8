// `waybill waiting end` on what is no intent: what follows is what follows from any exhausted delivery.  O5
#include <gtest/gtest.h>

#include "support/notify_world.h"
#include "support/pipeline_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

constexpr const char* kStuck = R"({
  "pipeline": "stuck", "initial": "CHECK",
  "states": { "CHECK": { "run": [{ "target": "shop.check", "input": "/payload" }] }, "DONE": { "terminal": true } },
  "transitions": [{ "from": "CHECK", "to": "DONE", "trigger": "checked", "actor": "worker" }]
})";
constexpr const char* kHandled = R"({
  "pipeline": "handled", "initial": "CHECK",
  "states": { "CHECK": { "run": [{ "target": "shop.check", "input": "/payload" }] },
              "DONE": { "terminal": true }, "GIVEN_UP": { "terminal": true } },
  "transitions": [
    { "from": "CHECK", "to": "DONE", "trigger": "checked", "actor": "worker" },
    { "from": "CHECK", "to": "GIVEN_UP", "trigger": "not_checked", "actor": "worker", "on": "failure" }
  ]
})";

// What `waybill waiting end` says of this target.
json end_waiting_for(const Installation& installation, const std::string& target) {
  const auto done =
      installation.command({"waiting", "end", "--target", target, "--reason", "no use", "--actor", "ada", "--json"});
  EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
  return json::parse(done.out, nullptr, false);
}

class WaitingStages : public PipelineWorld {
 protected:
  WaitingStages() {
    setup.pipelines = {{"stuck.json", kStuck}, {"handled.json", kHandled}};
    targets = standard_targets(gateway.url());
    targets.push_back(service("shop.check", "/check"));
    use_targets();
    gateway.script("POST /check", {answer({{"ok", true}})});
  }
};

// O5 P5
TEST_F(WaitingStages, AStageThatIsEndedIsOneThatHasFailed) {
  host();
  ASSERT_EQ(installation().command({"target", "pause", "shop.check", "--reason", "is away"}).exit_code, 0);
  ASSERT_EQ(hand_in("stuck", "s-1", {{"price", 7}}).status, 201);
  ASSERT_EQ(hand_in("handled", "h-1", {{"price", 7}}).status, 201);
  EXPECT_EQ(end_waiting_for(installation(), "shop.check")["count"], 2);
  wait_for_state("h-1", "GIVEN_UP");
  ASSERT_TRUE(eventually([&] { return view_of("s-1")["blockedAt"].is_string(); })) << view_of("s-1");
  EXPECT_EQ(state_of("s-1"), "CHECK");
  const auto why = installation().command({"explain", "s-1"}).out;
  EXPECT_NE(why.find("ended_by_operator"), std::string::npos) << why;
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.audit_log WHERE action = 'waiting_ended' AND actor = 'ada'"), 2);
  EXPECT_EQ(calls("/check"), 0u);
  EXPECT_EQ(installation().command({"target", "resume", "shop.check"}).exit_code, 0);
  const auto again = installation().command({"failed", "resend", "--reason", "ended_by_operator", "--reference", "s-1"});
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  wait_for_state("s-1", "DONE");
  EXPECT_EQ(calls("/check"), 1u);
}

class WaitingNotifications : public NotifyWorld {};

// O5 N5
TEST_F(WaitingNotifications, ADeliveryToAChannelThatIsEndedHasFailedAndItsChannelGoesOn) {
  configure("debounce: 0s");
  gateway.by_default(Reply::accept());
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  const auto target = "channel:" + channel.at("id").get<std::string>();
  ASSERT_EQ(installation().command({"target", "pause", target, "--reason", "floods them"}).exit_code, 0);
  add_event(rule, "1", 1);
  const std::string id = deliveries().at(0).at("id");
  EXPECT_EQ(end_waiting_for(installation(), target)["count"], 1);
  EXPECT_EQ(delivery(id).at("status"), "failed") << delivery(id);
  EXPECT_EQ(sql().text("SELECT reason FROM waybill.deliveries"), "ended_by_operator");
  EXPECT_EQ(call("GET", "/channels/" + channel.at("id").get<std::string>()).json().at("status"), "active")
      << "nothing was tried: that says nothing of the channel";
  EXPECT_EQ(installation().command({"target", "resume", target}).exit_code, 0);
  EXPECT_EQ(gateway.count(), 0u);
  add_event(rule, "2", 2);
  ASSERT_TRUE(eventually([&] { return deliveries("?status=succeeded").size() == 1; }));
  EXPECT_EQ(call("POST", "/deliveries/" + id + "/replay").status, 202) << "by the organisation's own way";
  ASSERT_TRUE(eventually([&] { return gateway.count() == 2; }));
  EXPECT_EQ(gateway.received().back().body, "[1]");
}

}  // namespace
}  // namespace waybill::testing
