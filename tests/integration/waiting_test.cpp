// What waits: told, ended, sent elsewhere, rated, by command and over HTTP, with a host and without one.  O5
#include <gtest/gtest.h>

#include <csignal>

#include "support/bad_plugins.h"
#include "support/eventually.h"
#include "support/process.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Waiting : public World {
 protected:
  Waiting() {
    setup.forms["two.yaml"] =
        "form_id: two\nname: A form\nactions:\n"
        "  - action_order: 1\n    action_type: good\n    destination: \"" +
        gateway.url() + "/first\"\n  - action_order: 2\n    action_type: good\n    destination: \"" + gateway.url() +
        "/second\"\n";
    auto targets = standard_targets(gateway.url());
    auto backup = targets.at(1);
    backup["submissionTarget"] = "sms.backup";
    backup["gatewayUrl"] = gateway.url() + "/backup";
    targets.push_back(backup);
    setup.registry = registry_of(targets);
    setup.plugins = {"sms", "push", "webhook"};
    setup.retry = "{kind: fixed, delay: 10ms}";
    setup.more = "timeouts: {poll: 20ms}\n";
  }
  void SetUp() override { installation().add_plugin(bad_plugin("good")); }

  json said(std::vector<std::string> words, int exit_code = 0) {
    words.emplace_back("--json");
    const auto result = installation().command(words);
    EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
    return json::parse(result.out, nullptr, false);
  }
  void pause(const std::string& target) {
    ASSERT_EQ(installation().command({"target", "pause", target, "--reason", "down"}).exit_code, 0);
  }
  void post_paused(int count, const std::string& target = "sms.patient") {
    host();
    pause(target);
    for (int i = 0; i < count; ++i) post_intent(client(), sms_intent("w-" + std::to_string(i), target));
  }
};

// O5
TEST_F(Waiting, WhatWaitsIsToldAndEndedWithoutBeingSent) {
  post_paused(3);
  EXPECT_EQ(post_intent(client(), sms_intent("goes", "sms.attempts"), 30).json().at("status"), "accepted");
  const auto queue = said({"queue"});
  EXPECT_EQ(queue["due"], 3) << queue;
  EXPECT_NE(queue["whyNotEmpty"].get<std::string>().find("sms.patient of default: paused"), std::string::npos) << queue;
  EXPECT_GT(queue["endsPerMinute"].get<double>(), 0);
  EXPECT_EQ(said({"queue", "--target", "sms.patient"})["targets"].at(0)["stopReason"], "down");
  EXPECT_EQ(said({"waiting", "list", "--target", "sms.patient"})["items"].size(), 3u);
  EXPECT_EQ(said({"waiting", "list", "--older-than", "1h"})["items"].size(), 0u);
  const std::vector<std::string> end{"waiting", "end", "--target", "sms.patient", "--reason", "no use", "--actor", "ada"};
  auto dry = end;
  dry.emplace_back("--dry-run");
  EXPECT_EQ(said(dry)["count"], 3);
  EXPECT_EQ(get_intent(client(), "w-0")["status"], "pending");
  EXPECT_EQ(said(end)["count"], 3);
  const auto ended = get_intent(client(), "w-0");
  EXPECT_EQ(ended["status"], "exhausted");
  EXPECT_EQ(ended["exhaustedReason"], "ended_by_operator");
  EXPECT_EQ(gateway.count("w-0"), 0u);
  EXPECT_EQ(said({"failed", "resend", "--reason", "ended_by_operator", "--dry-run"})["count"], 3) << "it can be sent again";
  const auto empty = installation().command({"queue"});
  EXPECT_NE(empty.out.find("it is empty"), std::string::npos) << empty.out;
}

// A form goes on as after any action that is exhausted.
TEST_F(Waiting, AFormGoesOnWithItsNextAction) {  // O5
  host();
  pause("sender:good");
  const json form{{"submissionId", "f-1"}, {"formId", "two"}, {"fields", {{"name", "Ada"}}}, {"finalize", true}};
  ASSERT_EQ(client().request("POST", "/v1/submissions", form.dump()).status, 201);
  const std::vector<std::string> end{"waiting", "end", "--target", "sender:good", "--reason", "no use"};
  ASSERT_TRUE(eventually([&] { return said({"queue", "--target", "sender:good"})["due"] == 1; }));
  EXPECT_EQ(said(end)["count"], 1) << "the second waits for its turn";
  EXPECT_EQ(said({"queue", "--target", "sender:good"})["due"], 1) << "which has come";
  ASSERT_EQ(installation().command({"target", "resume", "sender:good"}).exit_code, 0);
  ASSERT_TRUE(eventually([&] { return client().get("/v1/submissions/f-1").json().at("status") == "failed"; }));
  const auto deliveries = client().get("/v1/submissions/f-1").json().at("deliveries");
  EXPECT_EQ(deliveries.at(0)["reason"], "ended_by_operator") << deliveries;
  EXPECT_EQ(deliveries.at(1)["status"], "accepted");
  EXPECT_EQ(said({"dead", "list", "--reference", "f-1"})["deadLetters"].size(), 1u);
}

// O5
TEST_F(Waiting, WhatWaitsForOneTargetGoesToAnother) {
  post_paused(2);
  EXPECT_EQ(said({"waiting", "reroute", "--target", "sms.patient", "--to", "sms.backup", "--dry-run"})["count"], 2);
  EXPECT_EQ(said({"waiting", "reroute", "--target", "sms.patient", "--to", "sms.backup"})["count"], 2);
  for (const char* id : {"w-0", "w-1"}) EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted");
  for (const auto& request : gateway.received()) EXPECT_EQ(request.path.substr(0, 7), "/backup");
  EXPECT_EQ(post_intent(client(), sms_intent("w-0", "sms.patient")).status, 200) << "the repetition is still known";
  EXPECT_NE(
      said({"waiting", "reroute", "--target", "sms.patient", "--to", "sms.fuor"}, 1)["error"]["message"].get<std::string>().find(
          "no target \"sms.fuor\""),
      std::string::npos);
}

// O5
TEST_F(Waiting, ARateHoldsForAllHostsUntilItIsClearedAlsoAfterARestart) {
  host();
  EXPECT_EQ(said({"waiting", "rate", "--target", "sms.patient", "--per-minute", "1", "--for", "2h"})["rate"], "1/m");
  restart_host();
  EXPECT_EQ(said({"waiting", "rate"})["items"].size(), 1u);
  // Before the host has seen the rate, and the first of each minute, some may go.
  int posted = 0;
  ASSERT_TRUE(eventually([&] {
    post_intent(client(), sms_intent("r-" + std::to_string(posted++), "sms.patient"));
    return said({"queue", "--target", "sms.patient"})["due"].get<int>() > 1;
  }));
  const auto last = "r-" + std::to_string(posted - 1);
  ASSERT_TRUE(eventually([&] {
    const auto why = json::parse(installation().command({"explain", last, "--json"}).out);
    return why["code"] == "rate" && why["why"].get<std::string>().find("1/m, which ") != std::string::npos;
  }));
  EXPECT_EQ(said({"queue", "--target", "sms.patient"})["targets"].at(0)["rate"], "1/m");
  EXPECT_EQ(installation().command({"waiting", "rate", "--target", "sms.patient", "--clear"}).exit_code, 0);
  EXPECT_EQ(wait_for_end(client(), last)["status"], "accepted");
  EXPECT_EQ(installation().command({"waiting", "rate", "--target", "sms.patient", "--clear"}).exit_code, 1);
}

// What is done stays done, and nothing of it is done twice.
TEST_F(Waiting, KilledInTheMiddleItGoesOnWhereItStopped) {  // O5
  post_paused(1);
  give_up_host();
  constexpr int kMany = 2000;
  const std::string others = "generate_series(1, " + std::to_string(kMany - 1) + ") n";
  sql().execute(
      "SET search_path TO waybill; INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, "
      "payload_hash, "
      "created_at, body) SELECT shard, id + 1024 * n, org_id, kind, client_ref || '-' || n, pipeline, target, state, "
      "payload_hash, "
      "created_at, body FROM submissions, " +
      others +
      "; INSERT INTO ready (shard, action_order, org_id, delivery_id, submission_id, due_at, route_id, status) SELECT shard, "
      "action_order, org_id, delivery_id + 1024 * n, submission_id + 1024 * n, due_at, route_id, status FROM ready, " +
      others);
  const std::vector<std::string> end{"waiting", "end", "--target", "sms.patient", "--reason", "no use"};
  std::vector<std::string> words{waybill_program().string(), "--config", installation().config().string()};
  words.insert(words.end(), end.begin(), end.end());
  {
    Process killed({.arguments = words, .environment = {}, .folder = installation().folder()});
    ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.deliveries") > 0; }));
    killed.signal(SIGKILL);
    ASSERT_TRUE(killed.wait());
  }
  const auto before = sql().number("SELECT count(*) FROM waybill.deliveries");
  EXPECT_EQ(before, sql().number("SELECT count(*) FROM waybill.audit_log WHERE action = 'waiting_ended'"));
  EXPECT_EQ(said(end)["count"], kMany - before);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.ready"), 0);
  EXPECT_EQ(sql().number("SELECT count(DISTINCT delivery_id) FROM waybill.audit_log WHERE action = 'waiting_ended'"), kMany);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.audit_log WHERE action = 'waiting_ended'"), kMany);
}

// O5
TEST_F(Waiting, NoHostIsNeededAndWhatCannotBeMeantIsRefused) {
  post_paused(2);
  give_up_host();
  EXPECT_EQ(said({"queue"})["due"], 2);
  EXPECT_EQ(said({"waiting", "end", "--target", "sms.patient", "--reason", "x"})["count"], 2);
  said({"waiting", "end", "--target", "sms.patient"}, 2);
  said({"waiting", "end", "--reason", "x"}, 2);
  said({"waiting", "reroute", "--target", "sms.patient"}, 2);
  said({"waiting", "rate", "--target", "sms.patient", "--per-second", "0"}, 2);
  said({"waiting", "rate", "--target", "sms.patient", "--per-second", "1", "--clear"}, 2);
  said({"waiting", "rate", "--target", "sms.patient"}, 1);
  said({"waiting", "rate", "--target", "sms.fuor", "--per-second", "1"}, 1);
  said({"waiting", "rate", "--target", "sms.patient", "--per-second", "1", "--for", "soon"}, 1);
  said({"waiting", "list", "--older-than", "long"}, 1);
  said({"waiting", "list", "--kind", "letter"}, 2);
  EXPECT_EQ(said({"waiting", "list", "--target", "'; DROP TABLE waybill.ready; --"})["items"].size(), 0u);
}

class WaitingOverHttp : public Waiting {
 protected:
  WaitingOverHttp() { setup.auth = "tokens"; }
  HttpClient as(const std::string& org, const std::string& role) {
    const auto made = installation().command({"token", "create", "--org", org, "--role", role, org + "-" + role, "--json"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    HttpClient one(host().port());
    one.authorize(json::parse(made.out).at("token"));
    return one;
  }
};

// O5 S8 N3
TEST_F(WaitingOverHttp, AdministratorsActOnTheirOwnAndOperatorsOnAll) {
  host();
  ASSERT_EQ(installation().command({"org", "create", "acme"}).exit_code, 0);
  auto keeper = as("default", "operator"), admin = as("default", "admin"), member = as("default", "member"),
       stranger = as("acme", "admin");
  pause("sms.patient");
  for (const char* id : {"a", "b"}) post_intent(admin, sms_intent(id, "sms.patient"));
  for (const char* path : {"/v1/queue", "/v1/waiting", "/v1/rates"}) EXPECT_EQ(member.get(path).status, 403) << path;
  EXPECT_EQ(admin.get("/v1/rates").status, 403);
  EXPECT_EQ(admin.get("/v1/queue").json()["due"], 2);
  EXPECT_EQ(keeper.get("/v1/queue").json()["due"], 2);
  EXPECT_EQ(keeper.get("/v1/queue?org=acme").json()["due"], 0);
  EXPECT_EQ(stranger.get("/v1/queue").json()["due"], 0);
  EXPECT_EQ(stranger.get("/v1/queue?org=default").status, 404) << "as one that is not there";
  EXPECT_EQ(keeper.get("/v1/queue?org=nobody").status, 404);
  const auto page = admin.get("/v1/waiting?limit=1").json();
  ASSERT_EQ(page["items"].size(), 1u);
  EXPECT_EQ(admin.get("/v1/waiting?limit=1&cursor=" + page["next"].get<std::string>()).json()["items"].size(), 1u);
  EXPECT_EQ(stranger.get("/v1/waiting").json()["items"].size(), 0u);
  for (const char* wrong : {"limit=0", "olderThanSeconds=x", "olderThanSeconds=", "kind=letter", "cursor=x", "what=x"})
    EXPECT_EQ(admin.get(std::string("/v1/waiting?") + wrong).status, 400) << wrong;
  const auto post = [](HttpClient& who, const std::string& path, const json& body) {
    return who.request("POST", path, body.dump());
  };
  const json end{{"target", "sms.patient"}, {"reason", "no use"}, {"dryRun", true}};
  EXPECT_EQ(post(member, "/v1/waiting:end", end).status, 403);
  EXPECT_EQ(post(stranger, "/v1/waiting:end", end).json()["count"], 0);
  EXPECT_EQ(post(admin, "/v1/waiting:end", end).json()["count"], 2);
  for (const char* wrong : {"{}", R"({"target":"x"})", R"({"target":"","reason":"x"})", R"({"target":"x","reason":""})",
                            R"({"target":"x","reason":"x","olderThanSeconds":0})", R"({"target":"x","reason":"x","what":1})"})
    EXPECT_EQ(admin.request("POST", "/v1/waiting:end", wrong).status, 400) << wrong;
  const auto moved = post(admin, "/v1/waiting:reroute", {{"target", "sms.patient"}, {"to", "sms.backup"}});
  ASSERT_EQ(moved.status, 200) << moved.body;
  EXPECT_EQ(moved.json()["count"], 2);
  EXPECT_EQ(wait_for_end(admin, "a")["status"], "accepted");
  EXPECT_EQ(post(admin, "/v1/targets/sms.patient/rate", {{"rate", "5/s"}}).status, 403);
  EXPECT_EQ(post(keeper, "/v1/targets/sms.patient/rate", {{"rate", "fast"}}).status, 400);
  EXPECT_EQ(post(keeper, "/v1/targets/sms.fuor/rate", {{"rate", "5/s"}}).status, 404);
  EXPECT_EQ(post(keeper, "/v1/targets/sms.patient/rate", {{"rate", "5/s"}, {"lastsSeconds", 60}}).json()["rate"], "5/s");
  EXPECT_EQ(keeper.get("/v1/rates").json()["items"].size(), 1u);
  EXPECT_EQ(keeper.request("POST", "/v1/targets/sms.patient/clear-rate", "").status, 200);
  EXPECT_EQ(keeper.request("POST", "/v1/targets/sms.patient/clear-rate", "").status, 404);
}

}  // namespace
}  // namespace waybill::testing
