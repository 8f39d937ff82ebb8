// The registry file: every rule is checked, every complaint names its place, and a reload is all or nothing.
#include <gtest/gtest.h>
#include <signal.h>

#include <functional>

#include "support/forms_world.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class RegistryFile : public World {
 protected:
  json good() const { return target("sms.one", "sms", "http://127.0.0.1:9", "deadline", 30, {"invalid_recipient"}); }

  CommandResult check(const std::string& text) {
    installation().write_registry(text);
    return installation().command({"check"});
  }
  CommandResult check(const json& one_target) { return check(registry_of({one_target})); }
};

// M13
TEST_F(RegistryFile, AGoodOneIsGoodWithCommentsOnLinesOfTheirOwn) {
  const auto text = "# Who sends what.\n   # And where.\n" + registry_of({good()}) + "# The end.\n";
  const auto result = check(text);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

// M13
TEST_F(RegistryFile, EveryBrokenRuleIsNamedWithFileTargetAndField) {
  struct Case {
    std::string name;
    std::function<void(json&)> spoil;
    std::string field;
  };
  const std::vector<Case> cases{
      {"no type", [](json& t) { t.erase("gatewayType"); }, "gatewayType"},
      {"unknown type", [](json& t) { t["gatewayType"] = "fax"; }, "gatewayType"},
      {"type not text", [](json& t) { t["gatewayType"] = 1; }, "gatewayType"},
      {"no url", [](json& t) { t.erase("gatewayUrl"); }, "gatewayUrl"},
      {"empty url", [](json& t) { t["gatewayUrl"] = ""; }, "gatewayUrl"},
      {"ftp", [](json& t) { t["gatewayUrl"] = "ftp://host/"; }, "gatewayUrl"},
      {"no scheme", [](json& t) { t["gatewayUrl"] = "host:80/x"; }, "gatewayUrl"},
      {"no host", [](json& t) { t["gatewayUrl"] = "http:///x"; }, "gatewayUrl"},
      {"no policy", [](json& t) { t.erase("policy"); }, "policy"},
      {"unknown policy", [](json& t) { t["policy"] = "sometimes"; }, "policy"},
      {"deadline without seconds", [](json& t) { t.erase("maxAcceptanceSeconds"); }, "maxAcceptanceSeconds"},
      {"deadline of nought", [](json& t) { t["maxAcceptanceSeconds"] = 0; }, "maxAcceptanceSeconds"},
      {"negative deadline", [](json& t) { t["maxAcceptanceSeconds"] = -5; }, "maxAcceptanceSeconds"},
      {"broken deadline", [](json& t) { t["maxAcceptanceSeconds"] = 1.5; }, "maxAcceptanceSeconds"},
      {"deadline as text", [](json& t) { t["maxAcceptanceSeconds"] = "30"; }, "maxAcceptanceSeconds"},
      {"attempts beside a deadline", [](json& t) { t["maxAttempts"] = 3; }, "maxAttempts"},
      {"no attempts", [](json& t) { t["policy"] = "max_attempts", t.erase("maxAcceptanceSeconds"); }, "maxAttempts"},
      {"nought attempts", [](json& t) { t["policy"] = "max_attempts", t.erase("maxAcceptanceSeconds"), t["maxAttempts"] = 0; },
       "maxAttempts"},
      {"deadline beside attempts", [](json& t) { t["policy"] = "max_attempts", t["maxAttempts"] = 3; }, "maxAcceptanceSeconds"},
      {"deadline beside one shot", [](json& t) { t["policy"] = "one_shot"; }, "maxAcceptanceSeconds"},
      {"attempts beside one shot",
       [](json& t) { t["policy"] = "one_shot", t.erase("maxAcceptanceSeconds"), t["maxAttempts"] = 3; }, "maxAttempts"},
      {"no outcomes", [](json& t) { t.erase("terminalOutcomes"); }, "terminalOutcomes"},
      {"outcomes not a list", [](json& t) { t["terminalOutcomes"] = "invalid_recipient"; }, "terminalOutcomes"},
      {"empty outcome", [](json& t) { t["terminalOutcomes"] = {""}; }, "terminalOutcomes"},
      {"outcome twice",
       [](json& t) {
         t["terminalOutcomes"] = {"invalid_request", "invalid_request"};
       },
       "terminalOutcomes"},
      {"outcome of another type", [](json& t) { t["terminalOutcomes"] = {"unregistered_token"}; }, "terminalOutcomes"},
      {"accepted as outcome", [](json& t) { t["terminalOutcomes"] = {"accepted"}; }, "terminalOutcomes"},
      {"unknown field", [](json& t) { t["colour"] = "red"; }, "colour"},
      {"retry timing is no field", [](json& t) { t["retryDelaySeconds"] = 5; }, "retryDelaySeconds"},  // M9
  };
  for (const auto& c : cases) {
    auto spoilt = good();
    c.spoil(spoilt);
    const auto result = check(spoilt);
    const auto said = result.out + result.err;
    EXPECT_EQ(result.exit_code, 1) << c.name << ": " << said;
    EXPECT_NE(said.find("targets.json:"), std::string::npos) << c.name << ": " << said;  // the file, and a line after the colon
    EXPECT_NE(said.find("sms.one"), std::string::npos) << c.name << ": " << said;
    EXPECT_NE(said.find(c.field), std::string::npos) << c.name << ": " << said;
  }
}

// M13
TEST_F(RegistryFile, EveryBrokenFileIsRefused) {
  auto nameless = good();
  nameless.erase("submissionTarget");
  auto empty_name = good();
  empty_name["submissionTarget"] = "";
  const std::vector<std::pair<std::string, std::string>> files{
      {"empty", ""},
      {"no json", "targets: []\n"},
      {"truncated", "{\"targets\": ["},
      {"comment behind a value", "{\"targets\": [ # none yet\n" + good().dump() + "]}"},
      {"array", "[]"},
      {"no targets", "{}"},
      {"targets not a list", R"({"targets":{}})"},
      {"empty list", R"({"targets":[]})"},
      {"a target that is text", R"({"targets":["sms.one"]})"},
      {"unknown top-level field", R"({"version":1,"targets":[)" + good().dump() + "]}"},
      {"nameless", registry_of({nameless})},
      {"empty name", registry_of({empty_name})},
      {"same name twice", registry_of({good(), good()})},
      {"same field twice", R"({"targets":[{"policy":"one_shot",)" + good().dump().substr(1) + "]}"},
      {"invalid UTF-8", "{\"targets\":[\"\xff\"]}"}};
  for (const auto& [name, text] : files) {
    const auto result = check(text);
    EXPECT_EQ(result.exit_code, 1) << name << ": " << result.out;
    EXPECT_NE((result.out + result.err).find("targets.json"), std::string::npos) << name << ": " << result.out << result.err;
  }
}

// M13
TEST_F(RegistryFile, TheComplaintNamesTheLine) {
  const auto result =
      check("# one\n# two\n{\"targets\": [\n" + good().dump() + ",\n{\"submissionTarget\": \"sms.two\",\n  \"colour\": 1}\n]}\n");
  const auto said = result.out + result.err;
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(said.find("targets.json:6"), std::string::npos) << said;
  EXPECT_NE(said.find("sms.two"), std::string::npos) << said;
}

// M13
TEST_F(RegistryFile, AllProblemsAreListedAtOnce) {
  auto first = good();
  first["policy"] = "sometimes";
  auto second = good();
  second["submissionTarget"] = "sms.two";
  second["gatewayUrl"] = "ftp://x";
  const auto result = check(registry_of({first, second}));
  EXPECT_NE((result.out + result.err).find("policy"), std::string::npos);
  EXPECT_NE((result.out + result.err).find("gatewayUrl"), std::string::npos);
}

// M13
TEST_F(RegistryFile, TheHostDoesNotStartOnABadOne) {
  setup.registry = registry_of({});
  const auto result = installation().command({"serve"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE((result.out + result.err).find("targets.json"), std::string::npos) << result.out << result.err;
}

// M10, M13
TEST_F(RegistryFile, AHangUpSignalSwapsInAGoodRegistry) {
  EXPECT_EQ(post_intent(client(), sms_intent("early", "sms.new")).status, 400);
  installation().write_registry(registry_of({target("sms.new", "sms", gateway.url(), "one_shot", 0, {"invalid_request"})}));
  host().signal(SIGHUP);
  int tries = 0;
  EXPECT_TRUE(
      eventually([&] { return post_intent(client(), sms_intent("late-" + std::to_string(++tries), "sms.new")).status == 200; }));
  EXPECT_EQ(post_intent(client(), sms_intent("gone", "sms.deadline")).status, 400);
}

// M13
TEST_F(RegistryFile, ABadOneIsRefusedWholeAndTheOldStays) {
  client();
  auto spoilt = good();
  spoilt["policy"] = "sometimes";
  installation().write_registry(
      registry_of({target("sms.new", "sms", gateway.url(), "one_shot", 0, {"invalid_request"}), spoilt}));
  host().signal(SIGHUP);
  ASSERT_TRUE(host().wait_for_log("sometimes"));  // the refusal names what is wrong
  EXPECT_EQ(post_intent(client(), sms_intent("a", "sms.new")).status, 400);
  EXPECT_EQ(post_intent(client(), sms_intent("b", "sms.deadline")).status, 200);
}

// M13, F3: forms that the host knows and the database does not could be handed in, and never run
TEST_F(RegistryFile, OneWhoseFormsCannotBeStoredIsNotSwappedIn) {
  setup.plugins.emplace_back("email_raw");
  setup.more = "senders: {email_raw: {relay: \"smtp://127.0.0.1:9\", from: \"Forms <forms@example.org>\"}}\n";
  client();
  sql().execute("ALTER TABLE waybill.forms ADD CONSTRAINT no_forms_now CHECK (false) NOT VALID");
  installation().write_registry(registry_of({target("sms.new", "sms", gateway.url(), "one_shot", 0, {"invalid_request"})}));
  installation().write_form("contact.yaml", form_file("contact", {form_action(1, "email_raw", "desk@x.test")}));
  host().signal(SIGHUP);
  ASSERT_TRUE(host().wait_for_log("registry.not_stored"));
  EXPECT_EQ(post_intent(client(), sms_intent("new", "sms.new")).status, 400);
  EXPECT_EQ(post_intent(client(), sms_intent("old", "sms.deadline")).status, 200);
  const json handed_in{{"submissionId", "s-1"}, {"formId", "contact"}, {"fields", json::object()}};
  EXPECT_EQ(client().request("POST", "/v1/submissions", handed_in.dump()).status, 400);
  sql().execute("ALTER TABLE waybill.forms DROP CONSTRAINT no_forms_now");
  host().signal(SIGHUP);
  ASSERT_TRUE(host().wait_for_log("registry.reloaded"));
  EXPECT_EQ(post_intent(client(), sms_intent("new", "sms.new")).status, 200);
}

// M13
TEST_F(RegistryFile, TheReloadCommandTellsTheHost) {
  client();
  installation().write_registry(registry_of({target("sms.new", "sms", gateway.url(), "one_shot", 0, {"invalid_request"})}));
  const auto good_result = installation().command({"reload"});
  EXPECT_EQ(good_result.exit_code, 0) << good_result.out << good_result.err;
  int tries = 0;
  EXPECT_TRUE(
      eventually([&] { return post_intent(client(), sms_intent("r-" + std::to_string(++tries), "sms.new")).status == 200; }));
  installation().write_registry("{}");
  const auto bad_result = installation().command({"reload"});
  EXPECT_EQ(bad_result.exit_code, 1) << bad_result.out;
  EXPECT_NE((bad_result.out + bad_result.err).find("targets.json"), std::string::npos) << bad_result.out << bad_result.err;
  EXPECT_EQ(post_intent(client(), sms_intent("still", "sms.new")).status, 200);
}

// T27: what the command prints, and its exit code, are the hosts' verdicts
TEST_F(RegistryFile, TheReloadCommandWaitsForEveryHostsVerdict) {
  client();
  const Installation other_place(setup);
  Daemon other(other_place);
  const auto stored = installation().command({"reload"});  // both hosts are of this machine, each with files of its own
  EXPECT_EQ(stored.exit_code, 0) << stored.out << stored.err;
  EXPECT_NE(stored.out.find(":" + std::to_string(host().pid()) + " runs by it now"), std::string::npos) << stored.out;
  EXPECT_NE(stored.out.find(":" + std::to_string(other.pid()) + " runs by it now"), std::string::npos) << stored.out;
  const auto digest = [&](pid_t pid) {
    return sql().text("SELECT digest FROM waybill.host_registries JOIN waybill.hosts USING (host_id) WHERE name LIKE '%:" +
                      std::to_string(pid) + "'");
  };
  const auto before = digest(host().pid());
  installation().write_registry(registry_of({target("sms.new", "sms", gateway.url(), "one_shot", 0, {"invalid_request"})}));
  write_file(other_place.registry_file(), "{}");
  const auto mixed = installation().command({"reload"});
  EXPECT_EQ(mixed.exit_code, 1) << mixed.out;
  EXPECT_NE(mixed.out.find(":" + std::to_string(host().pid()) + " runs by it now"), std::string::npos) << mixed.out;
  EXPECT_NE(mixed.err.find(":" + std::to_string(other.pid()) + " keeps the registry that it had"), std::string::npos)
      << mixed.err;
  EXPECT_NE(mixed.err.find("targets.json"), std::string::npos) << mixed.err;
  EXPECT_NE(digest(host().pid()), before);
  EXPECT_EQ(digest(other.pid()), before);
  EXPECT_TRUE(host().wait_for_log("registry.differs"));
  EXPECT_TRUE(eventually([&] { return metric(client(), "waybill_registry_differs") == 1; }));
  EXPECT_EQ(metric(client(), "waybill_registry_info{digest=\"" + digest(host().pid()) + "\"}"), 1);
  EXPECT_THROW(metric(client(), "waybill_registry_info{digest=\"" + before + "\"}"), std::exception) << "one at a time";
  const auto checked = installation().command({"check", "--online"});
  EXPECT_NE((checked.out + checked.err).find(" runs by " + before), std::string::npos) << checked.out << checked.err;
  write_file(other_place.registry_file(), read_file(installation().registry_file()));
  const auto same = installation().command({"reload"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(digest(other.pid()), digest(host().pid()));
  EXPECT_TRUE(host().wait_for_log("registry.agrees"));
}

// T27
TEST_F(RegistryFile, AHostThatCannotStoreTheFormsSaysSo) {
  setup.plugins.emplace_back("email_raw");
  setup.more = "senders: {email_raw: {relay: \"smtp://127.0.0.1:9\", from: \"Forms <forms@example.org>\"}}\n";
  client();
  sql().execute("ALTER TABLE waybill.forms ADD CONSTRAINT no_forms_now CHECK (false) NOT VALID");
  installation().write_form("contact.yaml", form_file("contact", {form_action(1, "email_raw", "desk@x.test")}));
  const auto told = installation().command({"reload"});
  EXPECT_EQ(told.exit_code, 1) << told.out;
  EXPECT_NE(told.err.find("the new one could not be stored"), std::string::npos) << told.err;
}

// T27: what changed, targets as well, and who asked
TEST_F(RegistryFile, AReloadsAuditSaysWhatChangedAndWhoAsked) {
  client();
  installation().write_registry(
      registry_of({target("sms.new", "sms", gateway.url(), "one_shot", 0, {"invalid_request"}),
                   target("sms.once", "sms", gateway.url() + "/elsewhere", "one_shot", 0, {"invalid_request"})}));
  ASSERT_EQ(installation().command({"reload"}).exit_code, 0);
  const auto row =
      json::parse(sql().text("SELECT metadata || jsonb_build_object('actor', actor, 'type', actor_type) FROM waybill.audit_log"
                             " WHERE action = 'admin_reload_yaml' AND trigger = 'reload' ORDER BY created_at DESC LIMIT 1"));
  EXPECT_EQ(row["targets"]["added"], (json{"sms.new"}));
  EXPECT_EQ(row["targets"]["changed"], (json{"sms.once"}));
  EXPECT_NE(std::find(row["targets"]["removed"].begin(), row["targets"]["removed"].end(), "sms.deadline"),
            row["targets"]["removed"].end());
  EXPECT_NE(row["digest"], row["digestBefore"]);
  EXPECT_EQ(row["type"], "admin");
  EXPECT_NE(row["actor"].get<std::string>().find('@'), std::string::npos) << row;
}

// T27: a limit is part of what a target is
TEST_F(RegistryFile, AReloadThatChangesATimeLimitOnlyIsAuditedAsAChange) {
  client();
  auto targets = standard_targets(gateway.url());
  for (auto& one : targets)
    if (word(one, "submissionTarget") == "sms.once") one["timeout"] = "15s";
  installation().write_registry(registry_of(targets));
  ASSERT_EQ(installation().command({"reload"}).exit_code, 0);
  EXPECT_EQ(sql().text("SELECT metadata #>> '{targets,changed}' FROM waybill.audit_log WHERE action = 'admin_reload_yaml'"
                       " AND trigger = 'reload' ORDER BY created_at DESC LIMIT 1"),
            "[\"sms.once\"]");
}

// T27: a signal that nobody left word of is nobody's, whoever asked other hosts a moment ago
TEST_F(RegistryFile, AHostTakesNoReloadThatWasAskedOfAnother) {
  client();
  sql().execute("INSERT INTO waybill.reload_requests (asked_by, hosts) VALUES ('eve@elsewhere', ARRAY['elsewhere:1'])");
  host().signal(SIGHUP);
  const auto last = [&](const char* what) {
    return sql().text("SELECT coalesce((SELECT " + std::string(what) +
                      " FROM waybill.audit_log WHERE action = 'admin_reload_yaml' AND trigger = 'reload'"
                      " ORDER BY created_at DESC LIMIT 1), '')");
  };
  ASSERT_TRUE(eventually([&] { return !last("actor").empty(); }));
  EXPECT_EQ(last("actor_type"), "system") << last("actor");
  EXPECT_EQ(last("actor").find("eve"), std::string::npos);
  ASSERT_EQ(installation().command({"reload"}).exit_code, 0);
  EXPECT_EQ(last("actor_type"), "admin");
  EXPECT_NE(last("actor").find('@'), std::string::npos);
}

// T27: the sample registry has a form that is mailed; without a sender of mail, reload and restart take it alike, and say what
// waits
TEST_F(RegistryFile, TheSampleWithoutASenderOfMailIsTakenByAReloadAsByAStart) {
  setup.plugins = {"sms", "push", "webhook", "email_template", "happyfox_template"};
  client();
  const std::filesystem::path sample = std::filesystem::path(WAYBILL_SOURCE_FOLDER) / "registry";
  std::filesystem::copy(sample, installation().folder() / "registry",
                        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  const auto told = installation().command({"reload"});
  EXPECT_EQ(told.exit_code, 0) << told.out << told.err;
  EXPECT_NE((told.out + told.err).find("email_template"), std::string::npos) << told.out << told.err;
  EXPECT_NE(sql().text("SELECT string_agg(form_id, ',') FROM waybill.forms").find("contact"), std::string::npos);
  EXPECT_EQ(host().terminate(), 0);
  restart_host();
  EXPECT_EQ(client().get("/readyz").status, 200);
  EXPECT_TRUE(host().wait_for_log("plugin.missing"));
}

// T27: one rule: what a start takes, a reload takes, and says what waits
TEST_F(RegistryFile, AReloadTakesWhatAStartTakes) {
  client();
  auto targets = standard_targets(gateway.url());
  targets.push_back(target("later", "not_there", gateway.url(), "one_shot", 0, {"invalid_request"}));
  installation().write_registry(registry_of(targets));
  const auto told = installation().command({"reload"});
  EXPECT_EQ(told.exit_code, 0) << told.out << told.err;
  EXPECT_NE(told.out.find("not_there"), std::string::npos) << told.out;
  EXPECT_EQ(post_intent(client(), intent("waits", "later", {{"n", 1}})).status, 200);
  const auto again = client().request("POST", "/v1/admin/reload", "");
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_NE(again.json().at("warnings").dump().find("not_there"), std::string::npos) << again.body;
  EXPECT_EQ(host().terminate(), 0);
  restart_host();
  EXPECT_EQ(get_intent(client(), "waits")["status"], "pending");
}

// M13, H2: what a target may list is what its plugin declares, so without the plugin the target is refused
TEST_F(RegistryFile, ATargetWhosePluginIsMissingIsRefusedByName) {
  setup.plugins = {"push"};
  const auto result = check(good());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE((result.out + result.err).find("sms"), std::string::npos);
}

}  // namespace
}  // namespace waybill::testing
