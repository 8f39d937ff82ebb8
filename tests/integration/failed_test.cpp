// What failed and why, and sending it again, by command and over HTTP, with a host and without one.  O5
#include <gtest/gtest.h>

#include "support/bad_plugins.h"
#include "support/eventually.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Failed : public World {
 protected:
  Failed() {
    setup.forms["contact.yaml"] =
        "form_id: contact\nname: A form\nactions:\n  - action_order: 1\n    action_type: good\n    destination: \"" +
        gateway.url() + "/inbox\"\n";
    setup.plugins = {"sms", "push", "webhook"};
    setup.retry = "{kind: fixed, delay: 10ms}";
    setup.more = "timeouts: {cooldown: 0ms, outage: 0ms, poll: 20ms}\ndead: {replay_rate: 100}\n";
  }
  void SetUp() override { installation().add_plugin(bad_plugin("good")); }

  json said(std::vector<std::string> words, int exit_code = 0) {
    words.insert(words.begin(), "failed");
    words.emplace_back("--json");
    const auto result = installation().command(words);
    EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
    return json::parse(result.out, nullptr, false);
  }
  static std::vector<std::string> references(const json& page) {
    std::vector<std::string> all;
    for (const auto& item : page["items"]) all.push_back(item["reference"]);
    std::sort(all.begin(), all.end());
    return all;
  }
  // An intent and a form's action that have failed while their receiver was away.
  void fail_both(HttpClient& who) {
    gateway.by_default(Reply::http_error(503));
    post_intent(who, sms_intent("i-1", "sms.attempts"));
    const json form{{"submissionId", "f-1"}, {"formId", "contact"}, {"fields", {{"name", "Ada"}}}, {"finalize", true}};
    ASSERT_EQ(who.request("POST", "/v1/submissions", form.dump()).status, 201);
    EXPECT_EQ(word(wait_for_end(who, "i-1"), "status"), "exhausted");
    ASSERT_TRUE(eventually([&] { return who.get("/v1/submissions/f-1").json().at("status") == "failed"; }));
  }
};

// O5
TEST_F(Failed, OneListHasAllKindsAndOneCommandSendsThemAgain) {
  fail_both(client());
  const auto all = said({"list"});
  EXPECT_EQ(references(all), (std::vector<std::string>{"f-1", "i-1"}));
  for (const auto& item : all["items"]) EXPECT_NE(item["lastAttempt"]["error"], nullptr) << item;
  EXPECT_EQ(references(said({"list", "--form", "contact"})), std::vector<std::string>{"f-1"});
  EXPECT_EQ(references(said({"list", "--target", "sms.attempts", "--since", "2020-01-01T00:00:00Z"})),
            std::vector<std::string>{"i-1"});
  EXPECT_EQ(references(said({"list", "--until", "2020-01-01T00:00:00Z"})), std::vector<std::string>{});
  const auto shown = installation().command({"failed", "list"});
  EXPECT_NE(shown.out.find("LAST ERROR"), std::string::npos) << shown.out;
  EXPECT_EQ(said({"resend", "--status", "exhausted", "--dry-run"})["count"], 2);
  gateway.by_default(Reply::accept());
  const auto before = gateway.count();
  EXPECT_EQ(said({"resend", "--status", "exhausted", "--actor", "ada"})["count"], 2);
  ASSERT_TRUE(eventually([&] { return get_intent(client(), "i-1")["status"] == "accepted"; }));
  ASSERT_TRUE(eventually([&] { return client().get("/v1/submissions/f-1").json().at("status") == "routed"; }));
  EXPECT_EQ(gateway.count(), before + 2);
  EXPECT_EQ(said({"list"})["items"].size(), 2u) << "what has failed is history";
  EXPECT_EQ(said({"resend", "--status", "exhausted"})["items"].size(), 0u) << "and not sent a third time";
}

// O5
TEST_F(Failed, NoHostIsNeeded) {
  fail_both(client());
  give_up_host();
  const auto all = said({"list"});
  ASSERT_EQ(all["items"].size(), 2u);
  EXPECT_EQ(said({"resend", all["items"][0]["id"], all["items"][1]["id"]})["count"], 2);
  gateway.by_default(Reply::accept());
  EXPECT_EQ(word(wait_for_end(client(), "i-1"), "status"), "exhausted") << "until the replay has ended";
  ASSERT_TRUE(eventually([&] { return get_intent(client(), "i-1")["status"] == "accepted"; }));
}

// O5
TEST_F(Failed, WhatCannotBeMeantIsRefused) {
  EXPECT_EQ(installation().command({"migrate"}).exit_code, 0);
  EXPECT_NE(said({"resend"}, 1)["error"]["message"].get<std::string>().find("say which"), std::string::npos);
  EXPECT_NE(said({"list", "--since", "yesterday"}, 1)["error"]["message"].get<std::string>().find("--since"), std::string::npos);
  EXPECT_NE(said({"resend", "x"}, 1)["error"]["message"].get<std::string>().find("\"x\""), std::string::npos);
  said({"resend", "1", "--rate", "0"}, 2);
  said({"list", "--kind", "letter"}, 2);
  EXPECT_NE(said({"list", "--org", "nobody"}, 1)["error"]["message"].get<std::string>().find("nobody"), std::string::npos);
  const auto unknown = said({"resend", "4711"}, 1);
  EXPECT_EQ(unknown["items"][0]["outcome"], "refused");
  EXPECT_EQ(said({"list", "--target", "'; DROP TABLE waybill.ready; --"})["items"].size(), 0u);
}

class FailedWithTokens : public Failed {
 protected:
  FailedWithTokens() { setup.auth = "tokens"; }
};

// O5 S8 N3
TEST_F(FailedWithTokens, AdministratorsDoItForTheirOrganisation) {
  host();
  ASSERT_EQ(installation().command({"org", "create", "acme"}).exit_code, 0);
  const auto as = [&](const std::string& org, const std::string& role) {
    const auto made = installation().command({"token", "create", "--org", org, "--role", role, org + "-" + role, "--json"});
    HttpClient one(host().port());
    one.authorize(json::parse(made.out).at("token"));
    return one;
  };
  auto admin = as("default", "admin"), member = as("default", "member"), stranger = as("acme", "admin");
  fail_both(admin);
  EXPECT_EQ(member.get("/v1/failures").status, 403);
  EXPECT_EQ(member.request("POST", "/v1/failures:resend", R"({"kind":"intent"})").status, 403);
  EXPECT_EQ(stranger.get("/v1/failures").json()["items"].size(), 0u);
  const auto page = admin.get("/v1/failures?limit=1").json();
  ASSERT_EQ(page["items"].size(), 1u);
  const auto rest = admin.get("/v1/failures?limit=1&cursor=" + page["next"].get<std::string>()).json();
  ASSERT_EQ(rest["items"].size(), 1u);
  const json ids{page["items"][0]["id"], rest["items"][0]["id"]};
  const auto theirs = stranger.request("POST", "/v1/failures:resend", json{{"ids", ids}}.dump());
  EXPECT_EQ(theirs.status, 200) << theirs.body;
  EXPECT_EQ(theirs.json()["count"], 0);
  for (const char* wrong : {"{}", "[]", R"({"ids":"x"})", R"({"ids":["x"]})", R"({"kind":"letter"})",
                            R"({"kind":"intent","rate":0})", R"({"kind":"intent","dryRun":1})", R"({"what":"all"})"})
    EXPECT_EQ(admin.request("POST", "/v1/failures:resend", wrong).status, 400) << wrong;
  for (const char* wrong : {"limit=0", "since=x", "kind=letter", "cursor=x", "status=accepted", "what=x"})
    EXPECT_EQ(admin.get(std::string("/v1/failures?") + wrong).status, 400) << wrong;
  gateway.by_default(Reply::accept());
  const auto done = admin.request("POST", "/v1/failures:resend", json{{"ids", ids}, {"rate", 50}}.dump());
  ASSERT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(done.json()["count"], 2) << done.body;
  ASSERT_TRUE(eventually([&] { return get_intent(admin, "i-1")["status"] == "accepted"; }));
}

}  // namespace
}  // namespace waybill::testing
