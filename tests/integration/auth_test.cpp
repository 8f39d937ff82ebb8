// Who may talk to the host: bearer tokens, or nobody but this machine.
#include <gtest/gtest.h>

#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Auth : public World {
 protected:
  Auth() { setup.auth = "tokens"; }

  std::string create_token(const std::string& name, const std::string& role = "member") {
    const auto result = installation().command({"token", "create", "--name", name, "--role", role, "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return json::parse(result.out).at("token");
  }
};

// M1: no surface without its token
TEST_F(Auth, WithoutATokenNothingButHealthIsAnswered) {
  EXPECT_EQ(client().get("/healthz").status, 200);
  EXPECT_EQ(client().get("/readyz").status, 200);
  const auto body = sms_intent("a", "sms.deadline").dump();
  const std::vector<HttpClient::Fields> attempts{{},
                                                 {{"Authorization", ""}},
                                                 {{"Authorization", "Bearer"}},
                                                 {{"Authorization", "Bearer "}},
                                                 {{"Authorization", "Bearer not-a-token"}},
                                                 {{"Authorization", "Basic YTpi"}},
                                                 {{"Authorization", "Bearer " + std::string(8000, 'x')}},
                                                 {{"Authorization", "Bearer \xff\xfe"}}};
  for (const auto& fields : attempts) {
    const auto response = client().request("POST", "/v1/intents", body, fields);
    EXPECT_EQ(response.status, 401) << response.body;
    EXPECT_EQ(response.error_code(), "unauthorized");
  }
  EXPECT_EQ(client().get("/v1/intents/a").status, 401);
  EXPECT_EQ(client().get("/v1/intents/a/history").status, 401);
  EXPECT_EQ(client().request("POST", "/ui/history", "intentId=a", {{"Content-Type", "application/x-www-form-urlencoded"}}).status,
            401);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), 0);
}

// M1
TEST_F(Auth, ATokenOpensTheSurfaceUntilItIsRevoked) {
  host();
  const auto token = create_token("shop");
  client().authorize(token);
  EXPECT_EQ(post_intent(client(), sms_intent("a", "sms.deadline"), 30).status, 200);
  EXPECT_EQ(get_intent(client(), "a")["status"], "accepted");
  const auto revoked = installation().command({"token", "revoke", "shop"});
  EXPECT_EQ(revoked.exit_code, 0) << revoked.out << revoked.err;
  EXPECT_TRUE(
      eventually([&] { return client().get("/v1/intents/a").status == 401; }));  // a host may remember a token for a while
  EXPECT_NE(installation().command({"token", "revoke", "shop"}).exit_code, 0);
}

// M1
TEST_F(Auth, TokensAreKeptHashedAndNeverLogged) {
  host();
  const auto token = create_token("shop");
  client().authorize(token);
  EXPECT_EQ(client().get("/v1/intents/a").status, 404);
  const auto kept = sql().rows("SELECT t::text FROM waybill.api_tokens t");
  EXPECT_FALSE(kept.empty());
  for (const auto& row : kept) EXPECT_EQ(row[0]->find(token), std::string::npos);
  EXPECT_EQ(host().log().find(token), std::string::npos);
}

// M1, M14: nobody can be known then, so nobody is turned away as unknown
TEST_F(Auth, WithoutTheDatabaseTheAnswerIsUnavailable) {
  host();
  cluster().stop(PostgresCluster::Stop::immediate);
  client().authorize("wb_some_token_or_other");
  EXPECT_EQ(client().get("/v1/intents/a").status, 503);
  cluster().start();
  EXPECT_TRUE(eventually([&] { return client().get("/v1/intents/a").status == 401; }));
}

// M1
TEST_F(Auth, ALiveNameIsTakenAndARoleMustBeKnown) {
  host();
  create_token("shop");
  EXPECT_EQ(installation().command({"token", "create", "--name", "shop"}).exit_code, 1);
  EXPECT_NE(installation().command({"token", "create", "--name", "other", "--role", "emperor"}).exit_code, 0);
}

// M1
TEST_F(Auth, NoAuthenticationIsForLoopbackOnly) {
  setup.auth = "none";
  setup.listen = "0.0.0.0:0";
  const auto result = installation().command({"serve"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE((result.out + result.err).find("loopback"), std::string::npos) << result.out << result.err;
}

}  // namespace
}  // namespace waybill::testing
