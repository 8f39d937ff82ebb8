// waybill org erase as an operator uses it, beside a running host.  O7
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Leaving : public World {
 protected:
  Leaving() { setup.auth = "tokens"; }
  json said(std::vector<std::string> words, int exit_code = 0) {
    words.emplace_back("--json");
    const auto result = installation().command(words);
    EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
    return json::parse(result.out, nullptr, false);
  }
  std::string token_of(const std::string& org) {
    return said({"token", "create", "ops", "--org", org, "--role", "owner"})["token"];
  }
  HttpResponse hand_in(const std::string& token, const std::string& id) {
    return client().request("POST", "/v1/intents?waitSeconds=30", sms_intent(id, "sms.once").dump(),
                            {{"Authorization", "Bearer " + token}});
  }
  std::vector<std::string> erase(const std::string& file = "gone.json") {
    return {"org",     "erase", "acme", "--confirm", "acme", "--certificate", (installation().folder() / file).string(),
            "--actor", "ada"};
  }
};

// O7 N3
TEST_F(Leaving, ADisabledOrganisationGoesWithItsWorkAndAnotherGoesOn) {
  said({"org", "create", "acme"});
  said({"org", "create", "stays"});
  const auto leaves = token_of("acme"), stays = token_of("stays");
  ASSERT_EQ(hand_in(leaves, "theirs").status, 200);
  ASSERT_EQ(hand_in(stays, "ours").status, 200);
  EXPECT_NE(said(erase(), 1)["error"]["message"].get<std::string>().find("waybill org disable acme"), std::string::npos);
  said({"org", "disable", "acme"});
  ASSERT_TRUE(eventually([&] { return hand_in(leaves, "late").status == 403; }));
  EXPECT_NE(said(erase(), 1)["error"]["message"].get<std::string>().find("wait until"), std::string::npos);
  sql().execute("UPDATE waybill.organisations SET disabled_at = now() - interval '1 hour' WHERE name = 'acme'");
  auto wrong = erase();
  wrong[4] = "acne";
  EXPECT_NE(said(wrong, 1)["error"]["message"].get<std::string>().find("--confirm"), std::string::npos);
  const auto done = said(erase());
  EXPECT_GE(done["rows"], 5);
  EXPECT_EQ(json::parse(read_file(installation().folder() / "gone.json")), done);
  EXPECT_EQ(said({"org", "show", "acme"}, 1)["error"]["code"], "failed");
  EXPECT_TRUE(eventually([&] { return hand_in(leaves, "more").status == 401; }));
  EXPECT_EQ(hand_in(stays, "more").status, 200);
  EXPECT_NE(said(erase(), 1)["error"]["message"].get<std::string>().find("is there already"), std::string::npos);
  EXPECT_EQ(said(erase("again.json"))["digest"], done["digest"]) << "the audit has it";
  EXPECT_EQ(said({"org", "create", "acme"})["name"], "acme") << "and the name is free";
}

}  // namespace
}  // namespace waybill::testing
