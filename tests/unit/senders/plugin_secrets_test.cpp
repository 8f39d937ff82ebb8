// What a plugin may do with secrets, and what it may not, through the host that runs it.  D8
#include <gtest/gtest.h>
#include <waybill/plugin.h>

#include <mutex>

#include "support/service_account.h"
#include "unit/senders/plugin_world.h"
#include "unit/services/scripted_server.h"

namespace waybill {
namespace {

using testing::Connection;
using testing::PluginWorld;
using testing::private_pem;
using testing::ScriptedServer;
using testing::service_account;

class PluginSecrets : public ::testing::Test {
 protected:
  PluginSecrets() {
    world.config.readable_secrets["uses_secrets"] = {"key"};
    world.config.oauth2["crm"] = {.token_url = "http://127.0.0.1:1/", .client_id = "me", .client_secret = "key"};
    world.make_factory();
    world.transport = testing::insecure;
  }
  Outcome outcome_of(const std::string& what, bool of_tenant = false) {
    auto job = world.job("uses_secrets", "a", server.url(""));
    job.payload = what;
    if (of_tenant) job = testing::of_channel(std::move(job));
    return world.run(std::move(job)).outcome.value_or(Outcome{});
  }
  std::string got() {
    const std::lock_guard lock(mutex);
    return last;
  }

  std::mutex mutex;
  std::string last;
  ScriptedServer server{[this](Connection& connection) {
    for (auto request = connection.receive(); !request.empty(); request = connection.receive()) {
      const std::lock_guard lock(mutex);
      last = request;
      connection.answer(200, "taken");
    }
  }};
  PluginWorld world{{"uses_secrets"},
                    PluginWorld::kPatient,
                    {{"key", {Secret("hunter2"), Secret("hunter1")}},
                     {"odd", {Secret("a\"b c")}},
                     {"signer", {Secret(private_pem(service_account().key()))}}}};
};

TEST_F(PluginSecrets, AreFilledIntoTheUrlAndTheBody) {  // D8
  EXPECT_EQ(outcome_of("url").verdict, Verdict::accepted);
  EXPECT_TRUE(got().starts_with("POST /hunter2/x?a=hunter2 HTTP/1.1\r\n")) << got();
  EXPECT_EQ(outcome_of("body").verdict, Verdict::accepted);
  EXPECT_TRUE(got().ends_with("\r\n\r\n{\"k\":\"a\\\"b c\"}a%22b%20c")) << got();
  EXPECT_FALSE(world.log.contains("hunter2"));
}

TEST_F(PluginSecrets, DoNotGoOutInClear) {  // D8
  world.transport = {};
  for (const auto* what : {"url", "body"}) {
    const auto outcome = outcome_of(what);
    EXPECT_EQ(outcome.reach, Reach::not_sent);
    EXPECT_NE(outcome.detail.find("does not go out in clear"), std::string::npos) << outcome.detail;
    EXPECT_EQ(outcome.detail.find("hunter2"), std::string::npos);
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(PluginSecrets, NamedWhereTheyAreNotFilledInStopTheRequest) {  // D8
  auto outcome = outcome_of("literal");
  EXPECT_EQ(outcome.reach, Reach::not_sent);
  EXPECT_EQ(outcome.detail, "the body has {secret:key}, and a secret is put into a body only where its plugin says so");
  outcome = outcome_of("{secret:key}");  // whoever wrote the payload
  EXPECT_EQ(outcome.detail,
            "the header Authorization has {secret:key}, and so has the submission: what it holds names no secret");
  EXPECT_EQ(server.connections(), 0);
  EXPECT_EQ(outcome_of("I like {secret:key}").verdict, Verdict::accepted) << "a text like any other";
  EXPECT_TRUE(got().ends_with("\r\n\r\nI like {secret:key}"));
}

TEST_F(PluginSecrets, SignWithPrivateKeys) {  // D8
  const auto outcome = outcome_of("rs256");
  EXPECT_EQ(outcome.verdict, Verdict::accepted);
  EXPECT_TRUE(service_account().verifies("ab", outcome.detail));
  EXPECT_EQ(outcome_of("es256").detail, std::to_string(WB_SIGN_WRONG_KEY));
  EXPECT_EQ(outcome_of("no key").detail, std::to_string(WB_SIGN_WRONG_KEY));
}

TEST_F(PluginSecrets, AreReadOnlyWhereTheOperatorListsThemAndAsTheyAreNow) {  // D8
  EXPECT_EQ(outcome_of("value").detail, "hunter2 hunter1 0");
  world.secrets->swap_in(Secrets(Secrets::Values{{"key", {Secret("hunter3")}}}));
  EXPECT_EQ(outcome_of("value").detail, "hunter3 0");
  EXPECT_EQ(outcome_of("url").verdict, Verdict::accepted);
  EXPECT_TRUE(got().starts_with("POST /hunter3/x")) << got();
}

TEST_F(PluginSecrets, AreNotThereForATenant) {  // D8
  for (const auto* what : {"url", "body", "oauth2", "value", "rs256"}) {
    const auto outcome = outcome_of(what, true);
    EXPECT_NE(outcome.verdict, Verdict::accepted) << what;
    EXPECT_EQ(outcome.detail.find("hunter"), std::string::npos) << outcome.detail;
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(PluginSecrets, ATokenThatCannotBeHadIsSaidInTheLog) {  // D8
  const auto outcome = outcome_of("oauth2");
  EXPECT_EQ(outcome.reach, Reach::not_sent);
  EXPECT_TRUE(world.log.contains("oauth2.refused action_type=uses_secrets client=crm"));
  EXPECT_EQ(outcome_of("forget").detail, "forgotten");
}

}  // namespace
}  // namespace waybill
