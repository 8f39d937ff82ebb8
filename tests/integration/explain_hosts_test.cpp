// What `waybill explain` says of hosts that do not take a due delivery, and of what attempts met.  T30
#include <gtest/gtest.h>
#include <signal.h>

#include "support/bad_plugins.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class ExplainHosts : public World {
 protected:
  json explain(const std::string& id) { return json::parse(installation().command({"explain", id, "--json"}).out); }
  bool becomes(const std::string& id, const std::string& code) {
    return eventually([&] { return explain(id)["code"] == code; });
  }
  std::string why(const std::string& id) { return explain(id)["why"]; }
  // A delivery that a healthy host would take again and again.
  void have_one_retried(const std::string& id) {
    setup.retry = "{kind: fixed, delay: 1s}";
    gateway.by_default(Reply::reject("provider_failure"));
    ASSERT_EQ(post_intent(client(), sms_intent(id, "sms.patient"), 30).status, 200);
  }
};

// T30
TEST_F(ExplainHosts, TheOnlyHostIsStopped) {
  have_one_retried("held");
  host().signal(SIGSTOP);
  const AtEnd goes_on([&] { host().signal(SIGCONT); });
  EXPECT_TRUE(becomes("held", "host_silent")) << explain("held");
  EXPECT_NE(why("held").find(":" + std::to_string(host().pid()) + " has said nothing for "), std::string::npos) << why("held");
}

// T30
TEST_F(ExplainHosts, TheOnlyHostDrains) {
  setup.more = "timeouts: {drain: 600s, attempt: 600s, lease: 900s}\n";
  have_one_retried("waits");
  gateway.script("underway", {Reply::hang()});
  ASSERT_EQ(post_intent(client(), sms_intent("underway", "sms.patient")).status, 200);
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count("underway") == 1; }));
  host().signal(SIGTERM);
  EXPECT_TRUE(becomes("waits", "draining")) << explain("waits");
  host().kill_hard();
}

// T30
TEST_F(ExplainHosts, TheHostHasNotThePluginThatLiesInItsFolder) {
  auto targets = standard_targets(gateway.url());
  targets.push_back(target("mine", "good", gateway.url() + "/anywhere", "max_attempts", 3, {"invalid_request"}));
  setup.registry = registry_of(targets);
  ASSERT_EQ(post_intent(client(), intent("orphan", "mine", {{"n", 1}})).status, 200);
  installation().add_plugin(bad_plugin("good"));
  EXPECT_TRUE(becomes("orphan", "plugin_missing")) << explain("orphan");
  EXPECT_NE(why("orphan").find(":" + std::to_string(host().pid()) + " has no plugin for action type good"), std::string::npos)
      << why("orphan");
}

// T30
TEST_F(ExplainHosts, ThePluginsConstructorThrows) {
  auto targets = standard_targets(gateway.url());
  targets.push_back(target("mine", "throws_in_create", gateway.url(), "max_attempts", 3, {"invalid_request"}));
  setup.registry = registry_of(targets);
  installation().add_plugin(bad_plugin("throws_in_create"));
  ASSERT_EQ(post_intent(client(), intent("orphan", "mine", {{"n", 1}})).status, 200);
  EXPECT_TRUE(becomes("orphan", "switched_off")) << explain("orphan");
  EXPECT_NE(why("orphan").find("the plugin's create threw an exception"), std::string::npos) << why("orphan");
}

// T30
TEST_F(ExplainHosts, TheActionTypePausesAfterHangs) {
  auto targets = standard_targets(gateway.url());
  targets.push_back(target("loops", "loops", gateway.url(), "one_shot", 0, {"invalid_request"}));
  setup.registry = registry_of(targets);
  setup.more = "timeouts: {attempt: 1s, attempt_grace: 100ms}\n";
  installation().add_plugin(bad_plugin("loops"));
  for (int i = 0; i < 3; ++i) {
    const auto id = "poison-" + std::to_string(i);
    ASSERT_EQ(post_intent(client(), intent(id, "loops", {{"do", "loop"}})).status, 200);
    EXPECT_EQ(wait_for_end(client(), id)["status"], "exhausted");
  }
  ASSERT_TRUE(host().wait_for_log("\"paused_for_s\""));
  ASSERT_EQ(post_intent(client(), intent("later", "loops", {{"n", 1}})).status, 200);
  EXPECT_TRUE(becomes("later", "switched_off")) << explain("later");
  EXPECT_NE(why("later").find("tried again by itself"), std::string::npos) << why("later");
  EXPECT_TRUE(eventually([&] { return get_intent(client(), "later")["status"] == "accepted"; }, 4 * kBound))
      << "without a restart";
}

// T30
TEST_F(ExplainHosts, TheBodiesInFlightAreTheLimit) {
  setup.more = "limits: {in_flight_bytes: 1048576}\ntimeouts: {attempt: 600s, lease: 900s}\n";
  gateway.by_default(Reply::hang());
  const json large{{"text", std::string(1'000'000, 'x')}};
  ASSERT_EQ(post_intent(client(), intent("first", "hook.attempts", large)).status, 200);
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 1; }));
  ASSERT_EQ(post_intent(client(), intent("second", "hook.attempts", large)).status, 200);
  EXPECT_TRUE(becomes("second", "capped")) << explain("second");
  EXPECT_NE(why("second").find("limits.in_flight_bytes"), std::string::npos) << why("second");
  host().kill_hard();
}

// T30
TEST_F(ExplainHosts, ALockedTableIsNamedInWordsNotInSql) {
  ASSERT_EQ(post_intent(client(), sms_intent("done", "sms.deadline"), 30).status, 200);
  SqlClient other(setup.database_url);
  other.execute("BEGIN; LOCK TABLE waybill.ready");
  const auto result = installation().command({"explain", "done"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.err.find("another session holds a table locked"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("SELECT"), std::string::npos) << result.err;
}

// T30: whatever is read, also for what is no intent
TEST_F(ExplainHosts, AnyLockedTableIsNamedInWordsNotInSql) {
  host();
  for (const char* table :
       {"submissions", "attempts", "form_submissions", "pipeline_submissions", "notifications", "organisations"}) {
    SqlClient other(setup.database_url);
    other.execute("BEGIN; LOCK TABLE waybill." + std::string(table));
    const auto result = installation().command({"explain", "4711"});
    EXPECT_EQ(result.exit_code, 1) << table;
    EXPECT_NE(result.err.find("another session holds a table locked"), std::string::npos) << table << ": " << result.err;
    for (const char* sql : {"SELECT", "canceling statement", "lock timeout"})
      EXPECT_EQ(result.err.find(sql), std::string::npos) << table << ": " << result.err;
  }
}

// T30
TEST_F(ExplainHosts, AttemptsOfAPipelineAreListedWithTheServicesWordsAndIds) {
  auto targets = standard_targets(gateway.url());
  auto service = target("wordy", "webhook", gateway.url() + "/wordy", "max_attempts", 3, {"gone"});
  service["destination"] = {{"errorAt", "/error"}};
  targets.push_back(service);
  setup.registry = registry_of(targets);
  setup.pipelines["mail.json"] = R"({
    "pipeline": "mail", "initial": "TELL",
    "states": { "TELL": { "run": [{ "target": "wordy" }] },
                "TEXT": { "run": [{ "target": "sms.deadline", "input": "/payload", "retry": { "attempts": 2 } }] },
                "SENT": { "terminal": true } },
    "transitions": [{ "from": "TELL", "to": "TEXT", "trigger": "told", "actor": "worker" },
                    { "from": "TEXT", "to": "SENT", "trigger": "sent", "actor": "worker" }]
  })";
  gateway.script("POST /wordy", {{.status = 500, .body = R"({"error": "clone_failed"})"}, {.body = "{}"}});
  const json whole{{"submissionId", "m-1"}, {"payload", sms_intent("", "")["payload"]}};
  ASSERT_EQ(client().request("POST", "/v1/pipelines/mail/submissions", whole.dump()).status, 201);
  ASSERT_TRUE(eventually([&] { return word(client().get("/v1/submissions/m-1").json(), "state") == "SENT"; }));
  const auto deliveries = explain("m-1").at("deliveries");
  ASSERT_EQ(deliveries.size(), 2u);
  EXPECT_EQ(deliveries[0].at("state"), "TELL");
  ASSERT_EQ(deliveries[0].at("history").size(), 2u) << deliveries;
  EXPECT_NE(deliveries[0]["history"][0].dump().find("clone_failed"), std::string::npos) << deliveries;
  const auto reference = word(deliveries[1]["history"][0], "providerRef");
  EXPECT_NE(reference, "") << deliveries;
  const auto text = installation().command({"explain", "m-1"}).out;
  for (const auto& words :
       {std::string("attempts of wordy in state TELL"), std::string("clone_failed"), "the provider's id: " + reference})
    EXPECT_NE(text.find(words), std::string::npos) << text;
}

// T30
TEST_F(ExplainHosts, AttemptsAreListedWithTheProvidersId) {
  ASSERT_EQ(post_intent(client(), sms_intent("done", "sms.deadline"), 30).status, 200);
  wait_for_end(client(), "done");
  const auto history = explain("done").at("history");
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0].at("outcomeStatus"), "accepted");
  const auto reference = word(history[0], "providerRef");
  const auto text = installation().command({"explain", "done"}).out;
  EXPECT_NE(reference, "");
  EXPECT_NE(text.find("the provider's id: " + reference), std::string::npos) << text;
}

}  // namespace
}  // namespace waybill::testing
