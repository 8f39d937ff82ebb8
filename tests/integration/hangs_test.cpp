// A plugin that never comes back from one delivery: that one is charged and tried alone, the others do not pay.  T12
#include <gtest/gtest.h>

#include "support/bad_plugins.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Hangs : public World {
 protected:
  Hangs() {
    auto targets = standard_targets(gateway.url());
    targets.push_back(target("loops", "loops", gateway.url() + "/loops", "max_attempts", 2, {"invalid_request"}));
    targets.push_back(target("loops.once", "loops", gateway.url() + "/once", "one_shot", 0, {"invalid_request"}));
    setup.registry = registry_of(targets);
    setup.more = "timeouts: {attempt: 3s, attempt_grace: 500ms}\n";
    installation().add_plugin(bad_plugin("loops"));
  }
  static json looping(const std::string& id, const std::string& at = "loop") { return intent(id, "loops", {{"do", at}}); }
  std::string end_of(const std::string& id) {
    return sql().text(
        "SELECT coalesce((SELECT state || coalesce(' ' || reason, '') FROM waybill.submission_states WHERE client_ref = '" + id +
        "'), '')");
  }
  std::int64_t number(const std::string& query) { return sql().number("SELECT count(*) FROM waybill." + query); }
};

// T12 T29
TEST_F(Hangs, TheDeliveryItHappensInEndsAloneAndNothingUnsentPaysForIt) {
  constexpr int kBeside = 30;
  json all = json::array();
  for (int i = 0; i < kBeside; ++i) {
    all.push_back(intent("beside-" + std::to_string(i), "loops.once", {{"n", i}}));
    if (i == kBeside / 2) all.push_back(looping("poison"));
  }
  ASSERT_EQ(client().request("POST", "/v1/intents:batch", all.dump()).status, 200);
  const auto pid = host().pid();
  // At once: while it still goes on.
  EXPECT_TRUE(eventually([&] { return number("alerts WHERE kind = 'plugin_hung' AND message LIKE '%poison%'") == 1; }));
  const auto told = sql().text("SELECT message FROM waybill.alerts WHERE kind = 'plugin_hung'");
  const auto command = told.substr(told.rfind('\n') + 1);
  EXPECT_EQ(command, "waybill explain poison");
  EXPECT_EQ(installation().command({"explain", "poison"}).exit_code, 0);
  EXPECT_TRUE(eventually([&] { return end_of("poison") == "exhausted worker_lost"; }, 3 * kBound)) << end_of("poison");
  EXPECT_TRUE(eventually([&] { return number("submission_states WHERE state = 'accepted'") == kBeside; })) << sql().text(
      "SELECT string_agg(client_ref || ' ' || state, ', ') FROM waybill.submission_states WHERE state <> 'accepted'");
  for (int i = 0; i < kBeside; ++i) EXPECT_EQ(gateway.count("beside-" + std::to_string(i)), 1u) << i;
  EXPECT_EQ(number("attempts WHERE outcome = 'unknown' AND error LIKE 'plugin_hung: %'"), 3) << "the host's, and two alone";
  EXPECT_EQ(number("attempts WHERE error LIKE 'plugin_silent%'"), 0);
  EXPECT_EQ(number("dead_letters"), 1);
  EXPECT_EQ(host().pid(), pid);
  EXPECT_EQ(post_intent(client(), intent("after", "loops", {{"n", 0}}), 30).json()["status"], "accepted");
  EXPECT_GE(metric(client(), "submission_plugin_misbehaviour_total{action_type=\"loops\",how=\"stuck\"}"), 1);
}

// T12
TEST_F(Hangs, WhatHadLeftIsMaybeSentAndUsesUpNoAttempt) {
  gateway.by_default(Reply::hang());
  ASSERT_EQ(post_intent(client(), intent("sent", "loops", {{"n", 1}})).status, 200);
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count("sent") == 1; }));
  ASSERT_EQ(post_intent(client(), looping("poison")).status, 200);
  EXPECT_TRUE(eventually([&] { return number("attempts WHERE error LIKE 'plugin_hung: the plugin hung in another%'") == 1; }));
  gateway.by_default(Reply::accept());
  EXPECT_EQ(wait_for_end(client(), "sent")["status"], "accepted");
  EXPECT_EQ(number("attempts WHERE outcome = 'unknown' AND counts"), 0);
}

// T12: the delivery is a suspect from then on, which no other host claims.
TEST_F(Hangs, AnotherHostMeetsItNever) {
  client();
  Installation second_place(setup);
  second_place.add_plugin(bad_plugin("loops"));
  Daemon second(second_place);
  ASSERT_EQ(post_intent(client(), looping("poison")).status, 200);
  ASSERT_TRUE(eventually([&] { return end_of("poison") == "exhausted worker_lost"; }, 3 * kBound)) << end_of("poison");
  auto through_second = second.client();
  const std::string stuck = "submission_plugin_misbehaviour_total{action_type=\"loops\",how=\"stuck\"}";
  EXPECT_EQ(metric(client(), stuck, 0) + metric(through_second, stuck, 0), 1) << "one host has met it, once";
  for (auto* through : {&client(), &through_second}) EXPECT_EQ(through->get("/readyz").status, 200);
  EXPECT_EQ(post_intent(through_second, intent("after", "loops", {{"n", 0}}), 30).json()["status"], "accepted");
}

// T12
TEST_F(Hangs, TheDeliveryIsFoundAlsoWhenItHappensAsTheAnswerComes) {
  ASSERT_EQ(post_intent(client(), looping("late", "late loop")).status, 200);
  EXPECT_TRUE(eventually([&] { return end_of("late") == "exhausted worker_lost"; }, 3 * kBound)) << end_of("late");
  EXPECT_EQ(gateway.count(), 3u);
}

}  // namespace
}  // namespace waybill::testing
