// Which tokens could never be used: paths without a route, of other organisations, of roles or scopes that do not reach them. T32
#include "app/token_scope.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

class TokenScopes : public ::testing::Test {
 protected:
  std::string fault(const std::string& path) const { return reach_fault(path, token, kRoutes); }
  bool says(const std::string& path, const std::string& words) const { return fault(path).find(words) != std::string::npos; }
  TokenScope token{.org = "default", .role = http::Role::member, .has_targets = false};
  const std::vector<RoutePath> kRoutes = documented_paths();
};

TEST_F(TokenScopes, APathIsGoodIfARouteIsAtItOrBelowIt) {  // T32
  for (const char* path : {"/v1", "/v1/intents", "/v1/intents:batch", "/v1/intents/order-1", "/v1/intents/order-1/history",
                           "/v1/pipelines/escrow/submissions", "/orgs", "/orgs/default/channels", "/healthz"})
    EXPECT_EQ(fault(path), "") << path;
}

TEST_F(TokenScopes, APathWithoutARouteIsRefusedWithTheNearestOne) {  // T32
  EXPECT_TRUE(says("/v1/intent", "did you mean \"/v1/intents\"?")) << fault("/v1/intent");
  EXPECT_TRUE(says("/v1/intentsx", "no route of the API is at \"/v1/intentsx\" or below it")) << fault("/v1/intentsx");
  for (const char* path : {"/v2", "/v1/intents:", "/v1/intents:batch/x", "/v1/intents/a/history/more", "/v1/intents/a:b"})
    EXPECT_NE(fault(path), "") << path;
}

TEST_F(TokenScopes, APathThatTheRoleDoesNotReachIsRefused) {  // T32
  EXPECT_TRUE(says("/v1/dead", "needs the role admin, and the token has member")) << fault("/v1/dead");
  EXPECT_TRUE(says("/metrics", "needs the role operator")) << fault("/metrics");
  token.role = http::Role::operator_;
  EXPECT_EQ(fault("/v1/dead"), "");
  EXPECT_EQ(fault("/metrics"), "");
}

TEST_F(TokenScopes, APathOfAnotherOrganisationIsRefused) {  // T32
  EXPECT_TRUE(says("/orgs/acme/channels", "of another organisation")) << fault("/orgs/acme/channels");
  token.org = "acme";
  EXPECT_EQ(fault("/orgs/acme/channels"), "");
  token = {.org = "default", .role = http::Role::operator_, .has_targets = false};
  EXPECT_EQ(fault("/orgs/acme/disable"), "") << "an operator's routes are about any";
}

TEST_F(TokenScopes, ATokenForTargetsIsForIntentsOnly) {  // T32
  token.has_targets = true;
  for (const char* path : {"/v1", "/v1/intents", "/v1/intents:batch", "/v1/intents/order-1/history"})
    EXPECT_EQ(fault(path), "") << path;
  for (const char* path : {"/v1/submissions", "/v1/stats", "/healthz"})
    EXPECT_TRUE(says(path, "a token with --target is only for /v1/intents")) << fault(path);
}

TEST_F(TokenScopes, AnUnknownTargetIsNamedWithTheNearestOne) {  // T32
  EXPECT_EQ(target_fault("sms.primary", {"mail.notify", "sms.primary"}), "");
  EXPECT_EQ(target_fault("sms.primry", {"mail.notify", "sms.primary"}),
            "the registry has no target \"sms.primry\"; did you mean \"sms.primary\"?");
}

}  // namespace
}  // namespace waybill
