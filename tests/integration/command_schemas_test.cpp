// Every command with --json prints what its schema in docs/commands says; Installation::command() looks, here and in every other
// suite.  O8
#include <gtest/gtest.h>

#include <fstream>

#include "support/bad_plugins.h"
#include "support/command_schema.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class CommandSchemas : public World {
 protected:
  CommandSchemas() {
    setup.forms["mail.yaml"] =
        "form_id: mail\nname: A form\nactions:\n  - action_order: 1\n    action_type: email_raw\n    destination: desk@x.test\n";
    setup.forms["contact.yaml"] =
        "form_id: contact\nname: A form\nactions:\n  - action_order: 1\n    action_type: good\n    destination: \"" +
        gateway.url() + "/inbox\"\n";
    setup.plugins = {"email_raw", "sms", "push", "webhook"};
    setup.retry = "{kind: fixed, delay: 10ms}";
    setup.more =
        "senders:\n  email_raw: {relay: \"smtp://127.0.0.1:1\", from: \"forms@example.org\"}\n"
        "timeouts: {cooldown: 0ms, outage: 0ms, poll: 20ms}\ndead: {replay_rate: 100}\nsecrets: {master: {file: "
        "./master.key}}\nnotify: {key: master}\n";
  }
  void write_files() {
    installation().add_plugin(bad_plugin("good"));
    write_file(installation().folder() / "master.key", "of more than 32 bytes, for this test");
    write_file(installation().folder() / "fields.json", R"({"name":"Ada"})");
  }

  // Its JSON, which fits the schema, or the test has failed.
  json said(Words arguments, int exit_code = 0) {
    arguments.emplace_back("--json");
    const auto result = installation().command(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << arguments[0] << ": " << result.out << result.err;
    return json::parse(result.out, nullptr, false);
  }

  // The number of the dead letter of this submission.
  std::string died(const std::string& id) {
    const json body{{"submissionId", id}, {"formId", "contact"}, {"fields", {{"name", "Ada"}}}, {"finalize", true}};
    EXPECT_EQ(client().request("POST", "/v1/submissions", body.dump()).status, 201);
    EXPECT_TRUE(eventually([&] { return client().get("/v1/submissions/" + id).json().at("status") == "failed"; }));
    return said({"dead", "list", "--reference", id})["deadLetters"].at(0)["id"];
  }
};

// O6: also of the plan
TEST_F(CommandSchemas, OfWhatLooksAfterTheInstallation) {
  use_empty_database();
  write_files();
  said({"migrate"});
  sql().execute("DROP SCHEMA waybill CASCADE");
  EXPECT_GT(said({"migrate", "--plan"})["plan"]["migrations"].size(), 3u);
  EXPECT_GT(said({"migrate"})["applied"].size(), 3u);
  EXPECT_TRUE(said({"migrate"})["applied"].empty());
  EXPECT_TRUE(said({"migrate", "--plan"})["plan"]["migrations"].empty());
  EXPECT_EQ(said({"check"})["good"], true);
  EXPECT_FALSE(said({"check", "--online"}, 1)["online"].empty());
  said({"roles"});
  EXPECT_EQ(said({"restore-fence", "--since", "2026-01-01T00:00:00Z"})["ended"], 0);
  EXPECT_EQ(said({"keys", "rewrap"})["rewrapped"], 0);
  EXPECT_TRUE(said({"keys", "give-up"}).empty());
  EXPECT_EQ(said({"reload"}, 1)["error"]["message"], "no host of this installation is running on this machine");
  host();
  EXPECT_EQ(said({"reload"})["hosts"].at(0)["verdict"], "loaded");
  EXPECT_TRUE(said({"plugin", "list"})["hosts"].is_array());
  const auto name = said({"hosts", "list"})["items"].at(0)["name"];
  EXPECT_EQ(said({"hosts", "drain", name, "--reason", "x"})["othersThatClaim"], 0);
  EXPECT_EQ(said({"hosts", "resume", name})["resumed"], true);
  const auto version = std::to_string(said({"registry", "log"})["items"].at(0)["version"].get<int>());
  EXPECT_FALSE(said({"registry", "show"})["files"].empty());
  EXPECT_TRUE(said({"registry", "diff", version, version})["differences"].empty());
  EXPECT_EQ(said({"registry", "rollback", version, "--dry-run"})["backup"], nullptr);
  said({"plugin", "switch-on", "sms"}, 1);
  EXPECT_FALSE(said({"plugin", "new", "pager"})["files"].empty());
  EXPECT_GT(said({"plugin", "check", "--list"}).size(), 50u);
  EXPECT_EQ(said({"plugin", "check", built_plugin("sms").string(), "--only", "symbols"})["good"], true);
}

TEST_F(CommandSchemas, OfOrganisationsAndTokens) {
  write_files();
  EXPECT_EQ(said({"org", "create", "acme"})["weight"], 1);
  EXPECT_EQ(said({"org", "weight", "acme", "3"})["weight"], 3);
  EXPECT_NE(said({"org", "disable", "acme"})["disabledAt"], nullptr);
  said({"org", "enable", "acme"});
  EXPECT_EQ(said({"org", "show", "acme"})["name"], "acme");
  EXPECT_EQ(said({"org", "list"}).size(), 2u);
  const auto id = said({"token", "create", "shop", "--org", "acme"})["id"];
  said({"token", "create", "till", "--expires", "90d", "--target", "sms.once", "--path", "/v1/intents"});
  EXPECT_EQ(said({"token", "list", "--all-orgs"}).size(), 2u);
  EXPECT_EQ(said({"token", "revoke", "till"})["name"], "till");
  EXPECT_EQ(said({"token", "revoke", "--id", id})["id"], id);
  said({"token", "revoke", "till"}, 1);
  write_file(installation().folder() / "acme.jsonl", installation().command({"org", "export", "acme"}).out);
  EXPECT_EQ(said({"org", "verify", "acme.jsonl"})["organisation"], "acme");
  EXPECT_EQ(said({"org", "import", "acme.jsonl", "--as", "acme-2", "--dry-run"})["organisation"], "acme-2");
  EXPECT_EQ(said({"org", "import", "acme.jsonl", "--as", "acme-2"})["from"]["organisation"], "acme");
  said({"org", "disable", "acme"});
  said({"org", "erase", "acme", "--confirm", "acme", "--certificate", "gone.json"}, 1);  // not yet
}

TEST_F(CommandSchemas, OfSubmissionsAndDeadLetters) {
  write_files();
  gateway.by_default(Reply::http_error(503));
  const auto letter = died("f-1");
  EXPECT_EQ(said({"explain", "f-1"})["code"], "done");
  EXPECT_EQ(said({"dead", "show", letter})["id"], letter);
  EXPECT_EQ(said({"failed", "list"})["items"].at(0)["id"], letter);
  EXPECT_EQ(said({"failed", "resend", "--form", "contact", "--dry-run"})["count"], 1);
  EXPECT_EQ(said({"dead", "edit", letter, "--destination", gateway.url() + "/other"})["edits"].size(), 1u);
  EXPECT_EQ(said({"dead", "replay", letter, "--dry-run"})["count"], 1);
  EXPECT_EQ(said({"dead", "clone", letter, "f-2"})["submissionId"], "f-2");
  gateway.by_default(Reply::accept());
  EXPECT_EQ(said({"dead", "replay", letter})["count"], 1);
  EXPECT_EQ(said({"dead", "replay", letter}, 1)["items"].at(0)["outcome"], "refused");
  post_intent(client(), sms_intent("first", "sms.once"), 30);
  EXPECT_EQ(said({"explain", "first"})["code"], "done");
  said({"provider", "status", "first"}, 1);
  EXPECT_EQ(said({"provider", "probe", "sms.once"})["target"], "sms.once");
  said({"provider", "failures", "sms.once"}, 1);
  sql().execute(
      "INSERT INTO waybill.target_outages (org_id, target, until, reason, since) "
      "VALUES (1, 'sms.patient', now() + interval '1 hour', 'http_503', now())");
  EXPECT_EQ(said({"target", "list"})["items"].size(), 1u);
  EXPECT_EQ(said({"target", "pause", "sms.patient", "--reason", "x"})["pause"]["reason"], "x");
  EXPECT_EQ(said({"target", "resume", "sms.patient"})["resumed"], true);
}

TEST_F(CommandSchemas, OfFormsPipelinesAndArchives) {
  write_files();
  host();
  EXPECT_EQ(said({"form", "preview", "mail", "--fields", "fields.json"})["actions"].size(), 1u);
  EXPECT_EQ(said({"form", "simulate", "mail", "--fields", "fields.json"})["actions"].size(), 1u);
  EXPECT_EQ(
      client().request("POST", "/v1/submissions", R"({"submissionId":"f-1","formId":"mail","fields":{"name":"Ada"}})").status,
      201);
  EXPECT_EQ(said({"explain", "f-1"})["code"], "not_finalized");
  EXPECT_FALSE(said({"pipeline", "list"}).empty());
  EXPECT_EQ(said({"pipeline", "show", "form"})["builtIn"], true);
  EXPECT_TRUE(said({"archive", "list"})["submissions"].empty());
  EXPECT_TRUE(said({"failures", "list"})["digests"].empty());
}

// A failure is one document as well, whatever failed.
TEST_F(CommandSchemas, OfWhatFails) {
  write_files();
  EXPECT_EQ(said({"explain", "nobody"}, 1)["error"]["code"], "failed");
  EXPECT_EQ(said({"explain"}, 2)["error"]["code"], "wrong_call");
  EXPECT_EQ(said({"dead", "lsit"}, 2)["error"]["code"], "wrong_call");
  write_file(installation().config(), "database: [\n");
  EXPECT_NE(said({"dead", "list"}, 1)["error"]["message"].get<std::string>().find("waybill.yaml:"), std::string::npos);
}

TEST(CommandSchemaCheck, NoticesWhatDoesNotFit) {
  const auto fault = [](const std::string& out, int code = 0) {
    return schema_fault({"plugin", "switch-on", "t", "--json"}, {.exit_code = code, .out = out, .err = {}});
  };
  EXPECT_EQ(fault(R"({"actionType":"t","switchedOn":true})"), "");
  EXPECT_NE(fault(R"({"actionType":"t","switchedOn":"yes"})"), "");
  EXPECT_NE(fault(R"({"actionType":"t"})"), "");
  EXPECT_NE(fault(R"({"actionType":"t","switchedOn":true,"more":1})"), "");
  EXPECT_NE(fault(R"({"error":{"code":"failed","message":"no"}})"), "") << "though it ended well";
  EXPECT_EQ(fault(R"({"error":{"code":"failed","message":"no"}})", 1), "");
  EXPECT_NE(fault("", 1), "");
  EXPECT_NE(fault("{} {}"), "");
}

}  // namespace
}  // namespace waybill::testing
