// What waits for a channel that is disabled or cools down: it is kept, told the truth about, and moves once somebody has mended
// what was wrong.
#include <gtest/gtest.h>

#include <functional>

#include "support/notify_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

const std::string kParked =
    "SELECT count(*) FROM waybill.ready WHERE status = 'due' AND attempt_count = 0 AND due_at > now() + interval '20 seconds'";

class WaitingChannels : public NotifyWorld {
 protected:
  static std::string path_of(const json& channel) { return "/channels/" + channel.at("id").get<std::string>(); }
  void disable(const json& channel) {
    sql().execute("UPDATE waybill.channels SET disabled_at = now(), disabled_reason = 'it is gone' WHERE channel_id = '" +
                  channel.at("id").get<std::string>() + "'");
  }
  bool is_parked(int count = 1) {
    return eventually([&] { return sql().number(kParked) == count; });
  }
  json told(const std::string& id) { return call("GET", "/deliveries/" + id + "/explain").json(); }
};

// T2
TEST_F(WaitingChannels, AnEventForADisabledChannelIsKeptAndSentOnceItIsEnabled) {
  configure("debounce: 0s");
  gateway.by_default(Reply::http_error(410));
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  add_event(rule, "1", 1);
  ASSERT_TRUE(wait_for_status(deliveries().at(0).at("id"), "failed"));
  const auto kept = add_event(rule, "2", 2).json();
  EXPECT_EQ(kept.at("channels"), 1) << kept;
  ASSERT_EQ(deliveries().size(), 2u);
  const std::string id = deliveries().at(0).at("id");
  ASSERT_TRUE(is_parked());
  EXPECT_EQ(delivery(id).at("status"), "pending");
  EXPECT_EQ(delivery(id).at("attempts").size(), 0u);
  EXPECT_EQ(told(id).at("code"), "channel_disabled");
  EXPECT_NE(told(id).at("why").get<std::string>().find("until the channel is enabled"), std::string::npos) << told(id);
  EXPECT_EQ(gateway.count(), 1u) << "nothing is sent to a disabled channel";
  EXPECT_EQ(call("POST", path_of(channel) + "/test").status, 409);

  gateway.by_default(Reply::accept());
  EXPECT_EQ(call("PATCH", path_of(channel), {{"status", "active"}}).status, 200);
  EXPECT_TRUE(wait_for_status(id, "succeeded"));
  EXPECT_EQ(gateway.received().back().body, "[2]");
}

// T32: an installation for channels alone needs no target
TEST_F(WaitingChannels, NoTargetIsNeededForChannels) {
  configure("debounce: 0s");
  setup.registry = "{\"targets\": []}\n";
  gateway.by_default(Reply::accept());
  const auto checked = installation().command({"check"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  add_event(rule, "1", 1);
  EXPECT_TRUE(wait_for_status(deliveries().at(0).at("id"), "succeeded"));
  EXPECT_EQ(installation().command({"reload"}).exit_code, 0);
}

// T2: also what was there before, whatever it waited for.
TEST_F(WaitingChannels, WhatIsInTheQueueWhenItsChannelIsDisabledWaitsToo) {
  configure("debounce: 10m");
  setup.retry += "\n  webhook: { kind: fixed, delay: 10m }";
  gateway.by_default(Reply::http_error(500));
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  add_event(rule, "tried", "tried");
  end_windows();
  ASSERT_TRUE(eventually([&] { return delivery(deliveries().at(0).at("id")).at("attempt_count") == 1; }));
  add_event(rule, "open", "open");
  disable(channel);
  sql().execute("UPDATE waybill.ready SET due_at = now()");
  ASSERT_TRUE(is_parked());
  ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.ready WHERE due_at > now()") == 2; }));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.attempts"), 1);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.channels WHERE failing_since > disabled_at"), 0);
  gateway.by_default(Reply::accept());
  EXPECT_EQ(call("PATCH", path_of(channel), {{"status", "active"}}).status, 200);
  EXPECT_TRUE(eventually([&] { return deliveries("?status=succeeded").size() == 2; }));
}

// T2
TEST_F(WaitingChannels, ARecoveryTakesWhatWasNeverAttemptedAndWhatFailed) {
  configure("debounce: 0s, attempts: 1");
  gateway.by_default(Reply::http_error(500));
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  add_event(rule, "failed", 1);
  ASSERT_TRUE(wait_for_status(deliveries().at(0).at("id"), "failed"));
  disable(channel);
  for (const auto* event : {"2", "3"}) {
    const auto parked = static_cast<int>(sql().number(kParked));
    add_event(rule, event, event);
    ASSERT_TRUE(is_parked(parked + 1));
  }
  const std::string path = path_of(channel) + "/recover";
  json window{{"since", "2020-01-01T00:00:00Z"}, {"until", "2099-01-01T00:00:00Z"}};
  EXPECT_EQ(call("POST", path, window).status, 409) << "it is disabled";
  // By somebody who did not ask the API.
  sql().execute("UPDATE waybill.channels SET disabled_at = NULL, disabled_reason = NULL");
  gateway.by_default(Reply::accept());
  auto counted = window;
  counted["dryRun"] = true;
  EXPECT_EQ(call("POST", path, counted).json().at("count"), 3);
  EXPECT_EQ(sql().number(kParked), 2) << "a dry run moves nothing";
  const json later{{"since", "2098-01-01T00:00:00Z"}, {"until", "2099-01-01T00:00:00Z"}, {"dryRun", true}};
  EXPECT_EQ(call("POST", path, later).json().at("count"), 0);
  EXPECT_EQ(call("POST", path, window).json().at("count"), 3);
  EXPECT_TRUE(eventually([&] { return deliveries("?status=succeeded").size() == 3; }));
  EXPECT_EQ(call("POST", path, counted).json().at("count"), 0);
}

// T2: bounded by retention, and by the channel's life.
TEST_F(WaitingChannels, WhatWaitsForADisabledChannelEndsWithItsRetentionOrWithTheChannel) {
  configure("debounce: 0s");
  setup.more += "retention: { notifications: 30d }\n";
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  disable(channel);
  add_event(rule, "old", 1);
  ASSERT_TRUE(is_parked());
  const std::string old = deliveries().at(0).at("id");
  sql().execute("UPDATE waybill.submissions SET created_at = created_at - interval '31 days' WHERE id = " + number_of(old));
  sql().execute("UPDATE waybill.ready SET due_at = now()");
  ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.ready") == 0; }));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.attempts"), 1) << "its end is on record";

  add_event(rule, "young", 2);
  ASSERT_TRUE(is_parked());
  const std::string young = deliveries().at(0).at("id");
  EXPECT_EQ(call("PATCH", "/alert-rules/" + rule, {{"status", "disabled"}}).status, 200);
  EXPECT_EQ(call("DELETE", path_of(channel)).status, 204);
  EXPECT_TRUE(wait_for_status(young, "cancelled"));
  EXPECT_EQ(gateway.count(), 0u);
}

// T6: whichever way somebody says that it should be tried now.
TEST_F(WaitingChannels, ALongRetryAfterEndsWhenSomebodyMendsOrAsks) {
  configure("debounce: 0s");
  setup.retry += "\n  webhook: { kind: fixed, delay: 10m }";
  client();
  const json window{{"since", "2020-01-01T00:00:00Z"}, {"until", "2099-01-01T00:00:00Z"}};
  const std::vector<std::pair<std::string, std::function<bool(const json& channel)>>> ways{
      {"corrected",
       [&](const json& channel) {
         return call("PATCH", path_of(channel), {{"config", {{"url", gateway.url() + "/right"}}}}).status == 200;
       }},
      {"enabled",
       [&](const json& channel) {
         return call("PATCH", path_of(channel), {{"status", "active"}}).status == 200;
       }},
      {"test", [&](const json& channel) { return call("POST", path_of(channel) + "/test").json().at("status") == "succeeded"; }},
      {"recover", [&](const json& channel) { return call("POST", path_of(channel) + "/recover", window).status == 202; }},
      {"resume", [&](const json& channel) {
         return installation().command({"target", "resume", "channel:" + channel.at("id").get<std::string>()}).exit_code == 0;
       }}};
  for (const auto& [name, way] : ways) {
    SCOPED_TRACE(name);
    gateway.script("POST /" + name, {Reply::too_many_requests(3000), Reply::accept()});
    const auto rule = add_rule();
    const auto channel = add_channel(name, "/" + name);
    bind(rule, channel);
    add_event(rule, "1", name);
    const std::string id = deliveries("?channel_id=" + channel.at("id").get<std::string>()).at(0).at("id");
    ASSERT_TRUE(eventually([&] { return told(id).at("code") == "cooldown"; })) << told(id);
    EXPECT_TRUE(way(channel));
    EXPECT_TRUE(wait_for_status(id, "succeeded")) << told(id);
  }
}

// T6
TEST_F(WaitingChannels, AReplayEndsTheCooldownOfItsChannel) {
  configure("debounce: 0s, attempts: 1");
  gateway.script("POST /hook", {Reply::too_many_requests(3000), Reply::accept()});
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  add_event(rule, "1", 1);
  const std::string id = deliveries().at(0).at("id");
  ASSERT_TRUE(wait_for_status(id, "failed"));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.target_outages WHERE until > now() + interval '20 minutes'"), 1);
  EXPECT_EQ(call("POST", "/deliveries/" + id + "/replay").status, 202);
  EXPECT_TRUE(wait_for_status(id, "succeeded"));
}

// T6: a test that fails uses up nobody's attempts.
TEST_F(WaitingChannels, ATestThatFailsMovesNothingElse) {
  configure("debounce: 0s");
  setup.retry += "\n  webhook: { kind: fixed, delay: 10m }";
  gateway.by_default(Reply::http_error(500));
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  add_event(rule, "1", 1);
  const std::string id = deliveries().at(0).at("id");
  ASSERT_TRUE(eventually([&] { return delivery(id).at("attempt_count") == 1; }));
  EXPECT_EQ(call("POST", path_of(channel) + "/test").json().at("status"), "failed");
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.ready WHERE due_at > now() + interval '1 minute'"), 1);
  EXPECT_EQ(gateway.count(), 2u);
}

// T5
TEST_F(WaitingChannels, AWindowClosesInTimeHoweverManyEventsCome) {
  configure("debounce: 10m, max_wait: 3s");
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  int events = 0;
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(add_event(rule, std::to_string(++events), events).status, 202);
    return gateway.count() >= 2;
  }));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.notifications n"
                         " WHERE bytes <> octet_length(waybill.notification_body(shard, delivery_id))"),
            0);
}

// T18
TEST_F(WaitingChannels, TwoThatHangLeavePlacesToTheOthersOfTheirOrganisation) {
  configure("debounce: 0s");
  setup.more += "timeouts: { attempt: 10m, lease: 20m }\nsenders: { webhook: { timeout_ms: 600000 } }\n";
  gateway.answer_by([](const Received& request) { return request.path == "/good" ? Reply::accept() : Reply::hang(); });
  const std::vector channels{add_channel("first", "/first"), add_channel("second", "/second"), add_channel("good", "/good")};
  constexpr int kRules = 6;
  for (int i = 0; i < kRules; ++i) {
    const auto rule = add_rule();
    for (const auto& channel : channels) bind(rule, channel);
    add_event(rule, std::to_string(i), i);
  }
  EXPECT_TRUE(eventually([&] { return deliveries("?status=succeeded").size() == kRules; }));
  EXPECT_EQ(deliveries("?status=processing").size(), 2u);
  gateway.release();
}

// T18
TEST_F(WaitingChannels, AChannelThatDoesNotAnswerInTimeCoolsDown) {
  configure("debounce: 0s");
  setup.more += "timeouts: { attempt: 1s }\n";
  setup.retry += "\n  webhook: { kind: fixed, delay: 10m }";
  gateway.by_default(Reply::hang());
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  add_event(rule, "1", 1);
  const std::string id = deliveries().at(0).at("id");
  ASSERT_TRUE(eventually([&] { return delivery(id).at("attempt_count") == 1; }));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.target_outages WHERE target LIKE 'channel:%'"), 1) << delivery(id);
  EXPECT_TRUE(delivery(id).at("attempts").at(0).at("counts").get<bool>());
  gateway.release();
}

}  // namespace
}  // namespace waybill::testing
