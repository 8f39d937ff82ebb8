// Tokens from the command line to the door: ids, ends, scopes, operators, last uses, and what becomes of wrong ones.  S3 S8
#include <gtest/gtest.h>

#include <set>

#include "support/database_proxy.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class TokenDoor : public World {
 protected:
  TokenDoor() { setup.auth = "tokens"; }

  json create(std::vector<std::string> words) {
    words.insert(words.begin(), {"token", "create", "--json"});
    const auto made = installation().command(std::move(words));
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return made.exit_code == 0 ? json::parse(made.out) : json();
  }
  std::string token(std::vector<std::string> words) { return create(std::move(words)).at("token"); }
  json list(std::vector<std::string> words = {}) {
    words.insert(words.begin(), {"token", "list", "--json"});
    const auto listed = installation().command(std::move(words));
    EXPECT_EQ(listed.exit_code, 0) << listed.err;
    return json::parse(listed.out);
  }
  HttpClient as(const std::string& token) {
    HttpClient one(host().port());
    one.authorize(token);
    return one;
  }
  static int status(HttpClient& who, const std::string& method, const std::string& path, const json& body = nullptr) {
    return who.request(method, path, body.is_null() ? "" : body.dump()).status;
  }
};

// S8
TEST_F(TokenDoor, CommandsMakeListAndRevokeThem) {
  const auto made = create(
      {"ci", "--role", "admin", "--expires", "90d", "--target", "sms.once", "--target", "sms.patient", "--path", "/v1/intents"});
  const std::string id = made.at("id"), secret = made.at("token");
  EXPECT_TRUE(secret.starts_with("wbt_" + id + "_")) << secret;
  EXPECT_NEAR(seconds_of(made, "expiresAt") - seconds_of(made, "createdAt"), 90 * 86400.0, 1);
  EXPECT_EQ(made.at("targets"), (json{"sms.once", "sms.patient"}));
  EXPECT_EQ(made.at("paths"), (json{"/v1/intents"}));
  create({"other"});
  const auto all = list();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].at("id"), id);
  EXPECT_EQ(all[0].at("role"), "admin");
  EXPECT_EQ(all[0].at("lastUsedAt"), nullptr);
  EXPECT_EQ(all[1].at("expiresAt"), nullptr);
  const auto text = installation().command({"token", "list"}).out;
  EXPECT_NE(text.find(id), std::string::npos) << text;
  EXPECT_NE(text.find("target sms.once"), std::string::npos) << text;
  for (const auto& said : {all.dump(), text}) EXPECT_EQ(said.find(secret.substr(17)), std::string::npos) << "never a secret";
  EXPECT_EQ(installation().command({"token", "revoke", "--id", id}).exit_code, 0);
  EXPECT_EQ(installation().command({"token", "revoke", "--id", id}).exit_code, 1);
  EXPECT_EQ(list().size(), 1u);
  EXPECT_NE(list({"--revoked"})[1].at("revokedAt"), nullptr);
  EXPECT_EQ(installation().command({"token", "revoke"}).exit_code, 1);
  EXPECT_EQ(installation().command({"token", "revoke", "other", "--id", id}).exit_code, 1);
}

// S8
TEST_F(TokenDoor, WhatCannotBeIsRefused) {
  ASSERT_EQ(installation().command({"org", "create", "acme"}).exit_code, 0);
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{{"--expires", "soon"},
                                                                                     {"--expires", "59s"},
                                                                                     {"--expires", "3651d"},
                                                                                     {"--expires", "-1d"},
                                                                                     {"--path", "v1/intents"},
                                                                                     {"--path", "/"},
                                                                                     {"--path", "/v1/intents/"},
                                                                                     {"--path", "/v1//intents"},
                                                                                     {"--path", "/v1/int%65nts"},
                                                                                     {"--path", "/v1/intents?x"},
                                                                                     {"--path", "/v1/\nintents"},
                                                                                     {"--target", "a\nb"},
                                                                                     {"--target", ""},
                                                                                     {"--target", "sms.\u200bonce"},
                                                                                     {"--path", "/v1/\u202eintents"},
                                                                                     {"--role", "operator", "--org", "acme"}}) {
    std::vector<std::string> words{"token", "create", "ci"};
    words.insert(words.end(), wrong.begin(), wrong.end());
    const auto refused = installation().command(words);
    EXPECT_EQ(refused.exit_code, 1) << wrong.back();
    EXPECT_EQ(refused.out, "") << wrong.back();
  }
  for (const char* name : {"a\nb", "a\x1b[31m", "a\x7f", "a\xc2\x85", "\xff", "a\u202eb", "\u2028", "a\u200b", "\u00ad",
                           "a\u180e", "\U000e0041"})  // T32
    EXPECT_EQ(installation().command({"token", "create", "--name", name}).exit_code, 1) << name;
  EXPECT_TRUE(list({"--all-orgs", "--revoked"}).empty());
}

// T32: a token that could never be used is not made, and the reason is named
TEST_F(TokenDoor, WhatCouldNeverMatchIsRefused) {
  struct Wrong {
    std::vector<std::string> words;
    const char* why;
  };
  for (const auto& [wrong, why] :
       {Wrong{{"--path", "/v1/intent"}, "did you mean \"/v1/intents\"?"}, Wrong{{"--path", "/v1/dead"}, "needs the role admin"},
        Wrong{{"--target", "sms.onse"}, "did you mean \"sms.once\"?"},
        Wrong{{"--target", "sms.once", "--path", "/v1/stats"}, "a token with --target is only for"},
        Wrong{{"--certificate", "/dev/null"}, "no certificate in PEM"}}) {
    std::vector<std::string> words{"token", "create", "ci"};
    words.insert(words.end(), wrong.begin(), wrong.end());
    const auto refused = installation().command(words);
    EXPECT_EQ(refused.exit_code, 1) << wrong.back();
    EXPECT_NE(refused.err.find(why), std::string::npos) << refused.err;
  }
  EXPECT_TRUE(list({"--revoked"}).empty());
  EXPECT_EQ(create({"later", "--target", "sms.later", "--future-target"}).at("targets"), (json{"sms.later"}));
}

// S8
TEST_F(TokenDoor, AScopeIsWhatATokenMayDo) {
  gateway.by_default(Reply::accept());
  auto all = as(token({"all"})), sms = as(token({"sms", "--target", "sms.once"})),
       dead = as(token({"dead", "--role", "admin", "--path", "/v1/dead"}));
  EXPECT_EQ(post_intent(all, sms_intent("theirs", "sms.patient"), 30).status, 200);
  EXPECT_EQ(post_intent(sms, sms_intent("mine", "sms.once"), 30).status, 200);
  const auto refused = post_intent(sms, sms_intent("more", "sms.patient"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.error_code(), "forbidden");
  const json batch{sms_intent("b-1", "sms.once"), sms_intent("b-2", "sms.patient"), sms_intent("b-3", "no.such.target")};
  const auto results = sms.request("POST", "/v1/intents:batch", batch.dump()).json().at("results");
  EXPECT_EQ(results[0].at("status"), 200);
  EXPECT_EQ(results[1].at("status"), 403);
  EXPECT_EQ(results[2].at("status"), 403) << "nor does it tell which targets there are";
  EXPECT_EQ(sms.get("/v1/intents/mine").status, 200);
  EXPECT_EQ(sms.get("/v1/intents/mine/history").status, 200);
  const auto foreign = sms.get("/v1/intents/theirs"), unknown = sms.get("/v1/intents/nobody");
  EXPECT_EQ(foreign.status, 404);
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(sms.get("/v1/intents/theirs/history").status, 404);
  EXPECT_EQ(all.get("/v1/intents/mine").status, 200);
  for (const char* path : {"/v1/stats", "/v1/submissions", "/v1/submissions/x"}) EXPECT_EQ(sms.get(path).status, 403) << path;
  EXPECT_EQ(sms.request("POST", "/ui/history", "intentId=theirs", {{"Content-Type", "application/x-www-form-urlencoded"}}).status,
            403);
  EXPECT_EQ(dead.get("/v1/dead").status, 200);
  EXPECT_EQ(dead.get("/v1/dead/1").status, 404);
  EXPECT_EQ(dead.get("/v1/intents/mine").status, 403);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions WHERE client_ref IN ('more', 'b-2', 'b-3')"), 0);
}

// T32: neither which target an id belongs to, nor whether the payload is the same
TEST_F(TokenDoor, ATokenWithTargetsLearnsNothingOfAnotherTargetsIntentByItsId) {
  gateway.by_default(Reply::accept());
  auto all = as(token({"all"})), sms = as(token({"sms", "--target", "sms.once"}));
  ASSERT_EQ(post_intent(all, sms_intent("theirs", "sms.patient"), 30).status, 200);
  ASSERT_EQ(post_intent(sms, sms_intent("mine", "sms.once"), 30).status, 200);
  auto other_payload = sms_intent("theirs", "sms.once");
  other_payload["payload"]["more"] = "text";
  std::set<std::string> told;
  for (const auto& body : {sms_intent("theirs", "sms.once"), other_payload})
    for (const char* query : {"", "?waitSeconds=5"}) {
      const auto answer = sms.request("POST", std::string("/v1/intents") + query, body.dump());
      EXPECT_EQ(answer.status, 403) << answer.body;
      EXPECT_EQ(answer.error_code(), "forbidden");
      told.insert(answer.body);
      const auto results =
          sms.request("POST", "/v1/intents:batch", json{body, sms_intent("mine", "sms.once")}.dump()).json().at("results");
      EXPECT_EQ(results[0].at("status"), 403);
      EXPECT_EQ(results[0].at("error"), answer.json().at("error"));
      EXPECT_EQ(results[1].at("status"), 200);
    }
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(told.begin()->find("patient"), std::string::npos);
  EXPECT_EQ(post_intent(all, sms_intent("theirs", "sms.once")).status, 409) << "without targets it is a contradiction";
  auto mine_again = sms_intent("mine", "sms.once");
  mine_again["payload"]["more"] = "text";
  EXPECT_EQ(post_intent(sms, mine_again).status, 409) << "and so is one of its own";
}

// S8
TEST_F(TokenDoor, OnlyAnOperatorReloadsTheRegistryAndManagesOrganisations) {
  ASSERT_EQ(installation().command({"org", "create", "acme"}).exit_code, 0);
  auto keeper = as(token({"keeper", "--role", "operator"})), boss = as(token({"boss", "--role", "owner"})),
       theirs = as(token({"theirs", "--role", "owner", "--org", "acme"}));
  for (auto* who : {&boss, &theirs}) {
    EXPECT_EQ(status(*who, "POST", "/v1/admin/reload"), 403);
    EXPECT_EQ(status(*who, "GET", "/orgs"), 403);
    EXPECT_EQ(status(*who, "POST", "/orgs", {{"name", "more"}}), 403);
  }
  EXPECT_EQ(status(keeper, "POST", "/v1/admin/reload"), 200);
  EXPECT_EQ(status(keeper, "GET", "/orgs"), 200);
  EXPECT_EQ(status(keeper, "GET", "/v1/dead"), 200) << "and what an owner may";
}

// S3
TEST_F(TokenDoor, ARevokedTokenWorksASecondAtMostAndSoDoesOneOfADisabledOrganisation) {
  setup.more = "limits: {failed_sign_ins: 1000000}\n";
  ASSERT_EQ(installation().command({"org", "create", "acme"}).exit_code, 0);
  auto mine = as(token({"mine"})), theirs = as(token({"theirs", "--org", "acme"}));
  const auto refuses_a_second_later = [&](HttpClient& who, std::vector<std::string> command, int refusal) {
    EXPECT_EQ(who.get("/v1/intents/x").status, 404);
    ASSERT_EQ(installation().command(std::move(command)).exit_code, 0);
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < late) {  // it is in use all the time
      const int status = who.get("/v1/intents/x").status;
      EXPECT_TRUE(status == 404 || status == refusal) << status;
    }
    EXPECT_EQ(who.get("/v1/intents/x").status, refusal);
  };
  refuses_a_second_later(theirs, {"org", "disable", "acme"}, 403);
  refuses_a_second_later(mine, {"token", "revoke", "mine"}, 401);
}

// S8
TEST_F(TokenDoor, AnExpiredTokenIsRefused) {
  auto brief = as(token({"brief", "--expires", "1h"}));
  EXPECT_EQ(brief.get("/v1/intents/x").status, 404);
  sql().execute("UPDATE waybill.api_tokens SET expires_at = now()");
  EXPECT_TRUE(eventually([&] { return brief.get("/v1/intents/x").status == 401; }));
  EXPECT_TRUE(host().wait_for_log("auth.failed"));
  EXPECT_NE(host().log().find("expired"), std::string::npos);
}

// S3 S5
TEST_F(TokenDoor, WrongTokensAreLimitedCountedAndTold) {
  setup.more = "limits: {failed_sign_ins: 20}\n";
  const auto good = token({"good"});
  auto client = as(good);
  EXPECT_EQ(client.get("/v1/intents/x").status, 404);
  EXPECT_EQ(HttpClient(host().port()).request("GET", "/v1/intents/x", "", {{"Authorization", "bEARER " + good}}).status, 404);
  const std::string wrong = "wbt_0123456789ab_" + std::string(43, 'S');
  HttpClient stranger(host().port());
  int refused = 0, limited = 0;
  for (int i = 0; i < 100; ++i) {
    const auto answer =
        stranger.request("GET", "/v1/intents/x", "", {{"Authorization", "Bearer " + wrong + std::to_string(i % 2)}});
    refused += answer.status == 401;
    limited += answer.status == 429;
    if (answer.status != 429) continue;
    EXPECT_EQ(answer.error_code(), "rate_limited");
    const auto pause = answer.header("Retry-After");
    ASSERT_TRUE(pause);
    EXPECT_GE(std::stoi(*pause), 1);
  }
  EXPECT_EQ(refused + limited, 100);
  EXPECT_GE(refused, 20);
  EXPECT_GT(limited, 0);
  EXPECT_EQ(client.get("/v1/intents/x").status, 404) << "the same address, with a token that is known";
  EXPECT_GE(metric(client, "submission_failed_sign_ins_total{reason=\"unknown\"}"), 20);
  EXPECT_GE(metric(client, "submission_failed_sign_ins_total{reason=\"limited\"}"), 1);
  stranger.request("GET", "/v1/intents/x", "", {{"Authorization", "Bearer " + wrong}});
  EXPECT_TRUE(host().wait_for_log("auth.failed"));
  EXPECT_NE(host().log().find("127.0.0.1"), std::string::npos);
  EXPECT_EQ(host().log().find(std::string(20, 'S')), std::string::npos);
}

// S3: 401 would tell clients to throw good tokens away, and 429 that they had tried wrong ones
TEST_F(TokenDoor, WhileTheDatabaseHangsNoTokenIsJudged) {
  DatabaseProxy proxy(setup.database_url);
  setup.database_url = proxy.url();
  setup.more = "timeouts: {answer: 1s}\nlimits: {failed_sign_ins: 5}\n";
  auto good = as(token({"good"})), wrong = as("wbt_wrong");
  EXPECT_EQ(good.get("/v1/intents/x").status, 404);
  EXPECT_EQ(wrong.get("/v1/intents/x").status, 401);
  proxy.set(DatabaseProxy::Flow::stalled, "waybill-tokens");
  EXPECT_TRUE(eventually([&] { return good.get("/v1/intents/x").status == 503; })) << "when it is not remembered any more";
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(good.get("/v1/intents/x").status, 503);
    EXPECT_EQ(wrong.get("/v1/intents/x").status, 503);
  }
  proxy.set(DatabaseProxy::Flow::open, "waybill-tokens");
  EXPECT_TRUE(eventually([&] { return good.get("/v1/intents/x").status == 404; }));
  EXPECT_TRUE(eventually([&] { return wrong.get("/v1/intents/x").status == 401; }));
}

// S8: it says when a token was last used, and nothing waits for that to be written
TEST_F(TokenDoor, TheLastUseIsListedAndWaitsForNoLock) {
  auto client = as(token({"ci"}));
  SqlClient person(setup.database_url);
  person.execute(
      "BEGIN; LOCK TABLE waybill.token_uses IN ACCESS EXCLUSIVE MODE; LOCK TABLE waybill.api_tokens IN SHARE ROW EXCLUSIVE MODE");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client.get("/v1/intents/x").status, 404);
  EXPECT_TRUE(eventually([&] {  // the host tries to write it
    return sql().number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%token_uses%'") > 0;
  }));
  EXPECT_EQ(client.get("/v1/intents/x").status, 404);
  EXPECT_EQ(
      sql().number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE '%tokens%'"),
      0);
  person.execute("COMMIT");
  EXPECT_TRUE(eventually([&] { return list()[0].at("lastUsedAt") != nullptr; }));
}

}  // namespace
}  // namespace waybill::testing
