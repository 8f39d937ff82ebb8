// waybill org import as an operator uses it: an organisation moves, and a host goes on with what it has open.  O7
#include "domain/idempotency.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Importing : public World {
 protected:
  Importing() { setup.auth = "tokens"; }

  static json said(const Installation& where, std::vector<std::string> words, int exit_code = 0) {
    words.emplace_back("--json");
    const auto result = where.command(words);
    EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
    return json::parse(result.out, nullptr, false);
  }
  static HttpClient::Fields bearer(const Installation& where) {
    return {
        {"Authorization",
         "Bearer " + said(where, {"token", "create", "ops", "--org", "acme", "--role", "owner"})["token"].get<std::string>()}};
  }
  std::string exported() {
    const auto file = (installation().folder() / "acme.jsonl").string();
    const auto done = installation().command({"org", "export", "acme"});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    write_file(file, done.out);
    return file;
  }
};

// O7 D4: each once, by the key that the receiver has seen before
TEST_F(Importing, AnotherInstallationDeliversWhatWasOpenUnderTheSameKeys) {
  constexpr int kIntents = 5;
  gateway.by_default(Reply::http_error(503));
  said(installation(), {"org", "create", "acme"});
  const auto token = bearer(installation());
  const auto key = [](int i) { return idempotency_key({2}, "intent", "open-" + std::to_string(i), 1); };
  for (int i = 0; i < kIntents; ++i) {
    const auto answer =
        client().request("POST", "/v1/intents", sms_intent("open-" + std::to_string(i), "sms.patient").dump(), token);
    ASSERT_LT(answer.status, 300) << answer.body;
    ASSERT_TRUE(gateway.wait_for_count(key(i), 1));
  }
  give_up_host();
  const auto file = exported();

  HostSetup elsewhere = setup;
  elsewhere.database_url = cluster().create_database();
  const Installation target(elsewhere);
  ASSERT_EQ(target.command({"migrate"}).exit_code, 0);
  const auto rehearsed = said(target, {"org", "import", file, "--dry-run"});
  EXPECT_EQ(rehearsed["open"], kIntents);
  said(target, {"org", "show", "acme"}, 1);
  gateway.by_default(Reply::accept());
  std::map<std::string, std::size_t> before;
  for (int i = 0; i < kIntents; ++i) before[key(i)] = gateway.count(key(i));
  const auto done = said(target, {"org", "import", file, "--actor", "ada"});
  EXPECT_EQ(done["id"], 2);
  EXPECT_EQ(done["open"], kIntents);
  const auto told = target.command({"org", "import", file});
  EXPECT_EQ(told.exit_code, 1);
  EXPECT_NE(told.err.find("there is an organisation \"acme\" already"), std::string::npos) << told.err;

  Daemon host(target);
  auto other = host.client();
  const auto other_token = bearer(target);
  SqlClient there(elsewhere.database_url);
  EXPECT_TRUE(eventually([&] {
    return there.number("SELECT count(*) FROM waybill.deliveries WHERE org_id = 2 AND status = 'accepted'") == kIntents;
  }));
  for (int i = 0; i < kIntents; ++i) {
    EXPECT_EQ(gateway.count(key(i)), before[key(i)] + 1) << i;
    const auto answer = other.request("GET", "/v1/intents/open-" + std::to_string(i), "", other_token);
    EXPECT_EQ(json::parse(answer.body)["status"], "accepted") << answer.body;
  }
  EXPECT_EQ(gateway.counts().size(), static_cast<std::size_t>(kIntents)) << "no other key";
  EXPECT_EQ(there.number("SELECT count(*) FROM waybill.ready"), 0);
}

// O7: its number is not free again
TEST_F(Importing, AnErasedOneComesBackUnderAnotherNumber) {
  said(installation(), {"org", "create", "acme"});
  const auto token = bearer(installation());
  ASSERT_EQ(client().request("POST", "/v1/intents?waitSeconds=30", sms_intent("mine", "sms.once").dump(), token).status, 200);
  said(installation(), {"org", "disable", "acme"});
  const auto file = exported();
  sql().execute("UPDATE waybill.organisations SET disabled_at = now() - interval '1 hour' WHERE name = 'acme'");
  said(installation(),
       {"org", "erase", "acme", "--confirm", "acme", "--certificate", (installation().folder() / "gone.json").string()});

  const auto done = installation().command({"org", "import", file});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  for (const char* words : {"organisation acme is imported", "as 2 is or was another's here", "`waybill org enable acme`",
                            "`waybill token create --org acme`"})
    EXPECT_NE(done.out.find(words), std::string::npos) << words << ": " << done.out;
  said(installation(), {"org", "enable", "acme"});
  const auto again = client().request("GET", "/v1/intents/mine", "", bearer(installation()));
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(json::parse(again.body)["status"], "accepted");
  EXPECT_TRUE(eventually([&] { return client().request("GET", "/v1/intents/mine", "", token).status == 401; }))
      << "tokens do not come along";
}

// O7
TEST_F(Importing, WhatIsNoWholeFileIsRefused) {
  said(installation(), {"org", "create", "acme"});
  const auto whole = read_file(exported());
  const auto file = (installation().folder() / "cut.jsonl").string();
  write_file(file, whole.substr(0, whole.rfind("{\"rows\"")));
  const auto cut = installation().command({"org", "import", file, "--as", "acme-2"});
  EXPECT_EQ(cut.exit_code, 1);
  EXPECT_NE(cut.err.find("cut.jsonl: line "), std::string::npos) << cut.err;
  EXPECT_NE(cut.err.find("nothing of it is imported"), std::string::npos) << cut.err;
  EXPECT_EQ(installation().command({"org", "import", "/no/such/file"}).exit_code, 1);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.organisations"), 2);
}

}  // namespace
}  // namespace waybill::testing
