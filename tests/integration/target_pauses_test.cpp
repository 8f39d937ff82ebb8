// Operators stop sending to a target and resume it, by command and over HTTP, with a host and without one.  O5
#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class TargetPauses : public World {
 protected:
  TargetPauses() {
    setup.plugins = {"email_raw", "sms", "push", "webhook"};
    setup.forms["mail.yaml"] =
        "form_id: mail\nname: A form\nactions:\n  - action_order: 1\n    action_type: email_raw\n    destination: desk@x.test\n";
    setup.more =
        "senders:\n  email_raw: {relay: \"smtp://127.0.0.1:1\", from: \"forms@example.org\"}\n"
        "timeouts: {poll: 20ms}\n";
  }

  CommandResult target(std::vector<std::string> words) {
    words.insert(words.begin(), "target");
    return installation().command(words);
  }
  void pause(const std::string& name, const std::string& reason = "sent twice") {
    const auto done = target({"pause", name, "--reason", reason, "--actor", "ada"});
    ASSERT_EQ(done.exit_code, 0) << done.err;
  }
  json explained(const std::string& id) { return json::parse(installation().command({"explain", id, "--json"}).out); }
  bool is_told(const std::string& command, const std::string& words) {
    return installation().command({command}).out.find(words) != std::string::npos;
  }
};

// O5
TEST_F(TargetPauses, NothingIsSentUntilItIsResumedAlsoAfterARestart) {
  host();
  pause("sms.patient");
  post_intent(client(), sms_intent("waits", "sms.patient"));
  EXPECT_EQ(post_intent(client(), sms_intent("goes", "sms.attempts"), 30).json().at("status"), "accepted");
  restart_host();
  EXPECT_EQ(post_intent(client(), sms_intent("goes-too", "sms.attempts"), 30).json().at("status"), "accepted");
  EXPECT_EQ(get_intent(client(), "waits")["status"], "pending");
  EXPECT_EQ(gateway.count("waits"), 0u);
  const auto why = explained("waits");
  EXPECT_EQ(why["code"], "target_paused") << why;
  for (const char* word : {"by ada", "sent twice", "waybill target resume sms.patient", "deadline"})
    EXPECT_NE(why["why"].get<std::string>().find(word), std::string::npos) << word << ": " << why;
  EXPECT_TRUE(is_told("doctor", "sms.patient of organisation default is paused for"));
  ASSERT_TRUE(eventually([&] { return metric(client(), "submission_targets_paused", 0) == 1; }));
  const auto resumed = target({"resume", "sms.patient"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("the pause is over, since "), std::string::npos) << resumed.out;
  EXPECT_EQ(wait_for_end(client(), "waits")["status"], "accepted");
  EXPECT_EQ(gateway.count("waits"), 1u);
}

// O5 M7
TEST_F(TargetPauses, ADeadlineRunsOnMeanwhile) {
  host();
  pause("sms.brief");
  post_intent(client(), sms_intent("late", "sms.brief"));
  EXPECT_EQ(word(wait_for_end(client(), "late"), "exhaustedReason"), "deadline_exceeded");
  EXPECT_EQ(gateway.count("late"), 0u);
}

// What was under way at that moment ends, and its retries wait.
TEST_F(TargetPauses, ARetryWaitsToo) {  // O5
  setup.retry = "{kind: fixed, delay: 10ms}";
  gateway.by_default(Reply::http_error(503));
  post_intent(client(), sms_intent("tried", "sms.patient"), 30);
  ASSERT_TRUE(eventually([&] { return gateway.count("tried") > 0; }));
  pause("sms.patient");
  ASSERT_TRUE(eventually([&] { return explained("tried")["code"] == "target_paused"; }));
  gateway.by_default(Reply::accept());
  const auto sent = gateway.count("tried");
  EXPECT_EQ(post_intent(client(), sms_intent("goes", "sms.attempts"), 30).json().at("status"), "accepted");
  EXPECT_EQ(gateway.count("tried"), sent) << "no probe either, although its outage is not over";
  const auto listed = target({"list"});
  EXPECT_NE(listed.out.find("in outage  since"), std::string::npos) << listed.out;
  EXPECT_NE(target({"resume", "sms.patient"}).out.find("the outage is over, since"), std::string::npos)
      << "both end, and are told";
  EXPECT_EQ(wait_for_end(client(), "tried")["status"], "accepted");
}

// O5
TEST_F(TargetPauses, NoHostIsNeeded) {
  EXPECT_EQ(installation().command({"migrate"}).exit_code, 0);
  pause("sms.once");
  pause("sender:email_raw", "the relay blocks us");
  const auto again = target({"pause", "sms.once", "--reason", "y"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_NE(again.err.find("is paused already, since "), std::string::npos) << again.err;
  for (const char* wrong : {"sms.fuor", "sender:sms", "channel:1", "; DROP TABLE waybill.ready", "\n", "../../etc"}) {
    const auto refused = target({"pause", wrong, "--reason", "x"});
    EXPECT_EQ(refused.exit_code, 1) << wrong;
    EXPECT_NE(refused.err.find("there is no target"), std::string::npos) << refused.err;
  }
  EXPECT_NE(target({"pause", "sms.once", "--org", "acme", "--reason", "x"}).err.find("no organisation \"acme\""),
            std::string::npos);
  EXPECT_NE(target({"pause", "sms.once"}).exit_code, 0) << "without a reason";
  const auto listed = json::parse(target({"list", "--json"}).out);
  ASSERT_EQ(listed["items"].size(), 2u);
  EXPECT_EQ(listed["items"][0]["target"], "sender:email_raw");
  EXPECT_EQ(listed["items"][0]["pause"]["reason"], "the relay blocks us");
  EXPECT_EQ(json::parse(target({"list", "--limit", "1", "--json"}).out)["items"].size(), 1u);
  EXPECT_EQ(target({"resume", "sms.once"}).exit_code, 0);
  EXPECT_EQ(target({"resume", "sms.once"}).exit_code, 1);
  EXPECT_EQ(target({"resume", "sender:email_raw"}).exit_code, 0);
  EXPECT_EQ(target({"list"}).out, "no target is paused or in an outage\n");
}

// O5
TEST_F(TargetPauses, AFormsSenderIsPausedWithAllItsForms) {
  host();
  pause("sender:email_raw");
  const json form{{"submissionId", "f-1"}, {"formId", "mail"}, {"fields", {{"name", "Ada"}}}, {"finalize", true}};
  ASSERT_EQ(client().request("POST", "/v1/submissions", form.dump()).status, 201);
  ASSERT_TRUE(eventually([&] {
    const auto actions = explained("f-1")["actions"];
    return !actions.empty() && actions[0]["code"] == "target_paused";
  }));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.attempts"), 0);
}

class TargetPausesOverHttp : public TargetPauses {
 protected:
  TargetPausesOverHttp() { setup.auth = "tokens"; }
  static HttpResponse post(HttpClient& who, const std::string& name, const std::string& what, const std::string& body) {
    return who.request("POST", "/v1/targets/" + escaped(name) + "/" + what, body);
  }
};

// O5 S8
TEST_F(TargetPausesOverHttp, OperatorsDoItAndNobodyElse) {
  host();
  ASSERT_EQ(installation().command({"org", "create", "acme"}).exit_code, 0);
  auto keeper = client_of("default", "operator"), admin = client_of("default", "admin"), stranger = client_of("acme", "owner");
  for (auto* who : {&admin, &stranger}) {
    EXPECT_EQ(post(*who, "sms.once", "pause", R"({"reason":"x"})").status, 403);
    EXPECT_EQ(post(*who, "sms.once", "resume", "{}").status, 403);
    EXPECT_EQ(who->get("/v1/targets").status, 403);
  }
  const auto paused = post(keeper, "sms.once", "pause", R"({"reason":"sent twice"})");
  ASSERT_EQ(paused.status, 200) << paused.body;
  EXPECT_EQ(paused.json()["pause"]["reason"], "sent twice");
  EXPECT_EQ(post(keeper, "sms.once", "pause", R"({"reason":"again"})").status, 409);
  EXPECT_EQ(post(keeper, "sms.fuor", "pause", R"({"reason":"x"})").status, 404);
  EXPECT_EQ(post(keeper, "sms.once", "pause", R"({"reason":"x","org":"nobody"})").status, 404);
  for (const char* wrong : {"{}", R"({"reason":""})", R"({"reason":1})", R"({"reason":"x","until":"y"})", "[]", ""})
    EXPECT_EQ(post(keeper, "sms.once", "pause", wrong).status, 400) << wrong;
  for (const char* hostile : {"'; --", "%", "sms.once\n", "sender:"})
    EXPECT_EQ(post(keeper, hostile, "pause", R"({"reason":"x"})").status, 404) << hostile;
  const auto listed = keeper.get("/v1/targets").json();
  ASSERT_EQ(listed["items"].size(), 1u);
  EXPECT_EQ(listed["items"][0]["pause"]["actor"].get<std::string>().find("default-operator") != std::string::npos, true)
      << listed;
  EXPECT_EQ(keeper.get("/v1/targets?limit=0").status, 400);
  EXPECT_EQ(keeper.get("/v1/targets?cursor=x").status, 400);
  const auto resumed = post(keeper, "sms.once", "resume", "");
  ASSERT_EQ(resumed.status, 200) << resumed.body;
  EXPECT_EQ(resumed.json()["pause"]["reason"], "sent twice");
  EXPECT_EQ(post(keeper, "sms.once", "resume", "{}").status, 404);
  EXPECT_EQ(keeper.get("/v1/targets").json()["items"].size(), 0u);
}

}  // namespace
}  // namespace waybill::testing
