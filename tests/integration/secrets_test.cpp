// Secrets of the operator by the real program: in a target's URL, in an OAuth2 client, and after a rotation and a reload.  D8
#include <gtest/gtest.h>
#include <signal.h>

#include <mutex>

#include "support/forms_world.h"
#include "unit/services/scripted_server.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class OperatorsSecrets : public FormsWorld {
 protected:
  OperatorsSecrets() {
    setup.retry = "{kind: fixed, delay: 50ms}";
    setup.forms.clear();
    setup.templates.clear();
    rotate("first");
    setup.more = "secrets: { bot: { file: " + file().string() + " } }\noauth2:\n  crm: { token_url: \"" +
                 identity_.url("/token") + "\", client_id: me, client_secret: bot, insecure: true }\n";
    const json clear{{"insecure", true}};
    auto bot = target("bot", "webhook", server_.url("/bot{secret:bot}/send"), "max_attempts", 2, {"gone"});
    auto crm = target("crm", "webhook", server_.url("/crm"), "max_attempts", 2, {"gone"});
    crm["destination"] = {{"headers", {{"Authorization", "Bearer {oauth2:crm}"}}}};
    bot.update(clear);
    crm.update(clear);
    setup.registry = registry_of({bot, crm});
  }
  std::filesystem::path file() const { return files_.path() / "bot.secret"; }
  void rotate(const std::string& value) const { write_file(file(), value + "\n"); }
  // The head of the request that an intent became.
  std::string head_of(const std::string& id, const std::string& to) {
    post_intent(client(), intent(id, to, {{"a", 1}}));
    EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted");
    const std::lock_guard lock(mutex_);
    return last_;
  }

  std::mutex mutex_;
  std::string last_;
  ScriptedServer server_{[this](Connection& connection) {
    for (auto request = connection.receive(); !request.empty(); request = connection.receive()) {
      const std::lock_guard lock(mutex_);
      last_ = request.substr(0, request.find("\r\n\r\n"));
      connection.answer(200);
    }
  }};
  ScriptedServer identity_{[](Connection& connection) {
    while (!connection.receive().empty()) connection.answer(200, R"({"access_token":"t0ken","expires_in":3600})");
  }};

 private:
  TempFolder files_;
};

TEST_F(OperatorsSecrets, StandInAUrlAndInATokenAndAreReadAgainOnReload) {  // D8
  client();
  EXPECT_TRUE(head_of("i1", "bot").starts_with("POST /botfirst/send HTTP/1.1\r\n")) << last_;
  EXPECT_NE(head_of("i2", "crm").find("Authorization: Bearer t0ken"), std::string::npos) << last_;
  rotate("second");
  EXPECT_TRUE(head_of("i3", "bot").starts_with("POST /botfirst/send HTTP/1.1\r\n")) << "nothing is read before a reload";
  host().signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return host().log().find("registry.reloaded") != std::string::npos; }));
  EXPECT_TRUE(head_of("i4", "bot").starts_with("POST /botsecond/send HTTP/1.1\r\n")) << last_;
  const auto shown = client().get("/v1/intents/i4").body;
  EXPECT_EQ(shown.find("second"), std::string::npos) << shown;
  EXPECT_EQ(host().log().find("second"), std::string::npos);
}

TEST_F(OperatorsSecrets, ThatCannotBeReadAnyMoreLeaveTheOldOnesInForce) {  // D8
  client();
  std::filesystem::remove(file());
  host().signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return host().log().find("registry.refused") != std::string::npos; }));
  EXPECT_NE(host().log().find("secrets.bot"), std::string::npos) << host().log();
  EXPECT_TRUE(head_of("i1", "bot").starts_with("POST /botfirst/send HTTP/1.1\r\n")) << last_;
}

TEST_F(OperatorsSecrets, CheckNamesWhatCannotBeFilledIn) {  // D8
  auto unknown = target("unknown", "webhook", server_.url("/"), "max_attempts", 2, {"gone"});
  unknown["destination"] = {{"headers", {{"Authorization", "Bearer {oauth2:erp}"}}}};
  unknown["insecure"] = true;
  setup.registry = registry_of({target("host", "webhook", "https://{secret:bot}.test/", "max_attempts", 2, {"gone"})});
  auto result = installation().command({"check"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("targets[0].gatewayUrl"), std::string::npos) << result.err;
  installation().write_registry(
      registry_of({unknown, target("clear", "webhook", server_.url("/{secret:bot}"), "max_attempts", 2, {"gone"})}));
  result = installation().command({"check"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("there is no OAuth2 client \"erp\" under oauth2"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("targets[1].gatewayUrl: target \"clear\": a {secret:NAME} does not go out in clear"),
            std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace waybill::testing
