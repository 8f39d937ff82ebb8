// The subcommands: what they print, what they change, and how they end.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "support/bad_plugins.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

using Words = std::vector<std::string>;

class Commands : public World {
 protected:
  json explain(const std::string& id) {
    const auto result = installation().command({"explain", id, "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return json::parse(result.out);
  }
  // What `explain` says to people, in lower case.
  std::string explained(const std::string& id) {
    auto text = installation().command({"explain", id}).out;
    for (auto& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }
  std::int64_t versions() { return sql().number("SELECT count(*) FROM waybill.schema_migrations"); }
};

TEST_F(Commands, HelpIsThereForEachAndAWrongCallEndsWithTwo) {
  const std::vector<std::vector<std::string>> commands{{"serve"},
                                                       {"check"},
                                                       {"migrate"},
                                                       {"doctor"},
                                                       {"plugin", "list"},
                                                       {"plugin", "check"},
                                                       {"token", "create"},
                                                       {"token", "list"},
                                                       {"token", "revoke"},
                                                       {"explain"},
                                                       {"reload"},
                                                       {"roles"},
                                                       {"dead", "list"},
                                                       {"dead", "show"},
                                                       {"dead", "edit"},
                                                       {"dead", "replay"},
                                                       {"dead", "clone"},
                                                       {"failures", "check"},
                                                       {"failures", "list"},
                                                       {"archive", "list"},
                                                       {"archive", "show"},
                                                       {"drain"}};
  for (auto arguments : commands) {
    arguments.insert(arguments.begin(), waybill_program().string());
    arguments.emplace_back("--help");
    const auto result = run({.arguments = arguments});
    EXPECT_EQ(result.exit_code, 0) << arguments[1];
    EXPECT_NE(result.out.find("Usage"), std::string::npos) << arguments[1] << ": " << result.out;
  }
  EXPECT_NE(run({.arguments = {waybill_program().string(), "--help"}}).out.find("--config"), std::string::npos);
  EXPECT_EQ(run({.arguments = {waybill_program().string(), "dance"}}).exit_code, 2);
  EXPECT_EQ(run({.arguments = {waybill_program().string(), "serve", "--colour"}}).exit_code, 2);
}

// M13
TEST_F(Commands, CheckNamesTheFileAndPlaceInTheConfiguration) {
  setup.more = "limits: {in_flight: lots}\ncolour: red\n";
  const auto result = installation().command({"check"});
  const auto said = result.out + result.err;
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(said.find("waybill.yaml:"), std::string::npos) << said;
  EXPECT_NE(said.find("limits.in_flight"), std::string::npos) << said;
  EXPECT_NE(said.find("colour"), std::string::npos) << said;
  EXPECT_EQ(installation().command({"serve"}).exit_code, 1);
}

TEST_F(Commands, CheckNamesAMissingSecret) {
  setup.more = "secrets:\n  partner: {env: NO_SUCH_VARIABLE_HERE}\n";
  const auto result = installation().command({"check"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE((result.out + result.err).find("NO_SUCH_VARIABLE_HERE"), std::string::npos) << result.out << result.err;
  const auto good = installation().command({"check"}, {{"NO_SUCH_VARIABLE_HERE", "s3cret-value"}});
  EXPECT_EQ(good.exit_code, 0) << good.out << good.err;
  EXPECT_EQ((good.out + good.err).find("s3cret-value"), std::string::npos);
}

// H2
TEST_F(Commands, PluginListShowsWhatIsLoaded) {
  const auto result = installation().command({"plugin", "list", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto text = json::parse(result.out).dump();
  for (const auto* word : {"sms", "push", "webhook", "sms.so"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in " << text;
  const auto plain = installation().command({"plugin", "list"});
  EXPECT_EQ(plain.exit_code, 0);
  EXPECT_NE(plain.out.find("webhook"), std::string::npos) << plain.out;
}

// M12
TEST_F(Commands, MigratingTwiceDoesNothingTheSecondTime) {
  use_empty_database();
  EXPECT_EQ(installation().command({"migrate"}).exit_code, 0);
  const auto once = versions();
  EXPECT_GE(once, 1);
  EXPECT_EQ(installation().command({"migrate"}).exit_code, 0);
  EXPECT_EQ(versions(), once);
}

// M18
TEST_F(Commands, ManyMayMigrateAtOnce) {
  use_empty_database();
  installation();
  std::array<int, 6> codes{};
  {
    std::vector<std::jthread> all;
    for (auto& code : codes) all.emplace_back([&] { code = installation().command({"migrate"}).exit_code; });
  }
  for (const auto code : codes) EXPECT_EQ(code, 0);
  EXPECT_EQ(sql().number("SELECT count(*) - count(DISTINCT version) FROM waybill.schema_migrations"), 0);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.organisations"), 1);
}

// M18
TEST_F(Commands, ANewerSchemaIsRefused) {
  sql().execute("INSERT INTO waybill.schema_migrations (version, name) VALUES (9999, 'from the future')");
  for (const auto* command : {"migrate", "serve"}) {
    const auto result = installation().command({command});
    EXPECT_EQ(result.exit_code, 1) << command;
    EXPECT_NE((result.out + result.err).find("9999"), std::string::npos) << command << ": " << result.out << result.err;
  }
}

// M12
TEST_F(Commands, WithoutMigrationAtStartAnEmptyDatabaseIsRefused) {
  use_empty_database();
  setup.more = "";
  const auto result = installation().command({"serve"}, {{"WAYBILL_DATABASE_MIGRATE", "false"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE((result.out + result.err).find("migrate"), std::string::npos) << result.out << result.err;
}

// M3
TEST_F(Commands, ExplainSaysThatAnIntentIsDone) {
  post_intent(client(), sms_intent("done", "sms.deadline"), 30);
  wait_for_end(client(), "done");
  EXPECT_EQ(explain("done")["code"], "done");
  EXPECT_NE(explained("done").find("accepted"), std::string::npos) << explained("done");
}

// M3
TEST_F(Commands, ExplainSaysThatAnIntentWaitsForItsDueTime) {
  setup.retry = "{kind: fixed, delay: 1h}";
  setup.registry = registry_of({target("sms.long", "sms", gateway.url(), "deadline", 36000, {"invalid_request"})});
  gateway.by_default(Reply::reject("provider_failure"));
  post_intent(client(), sms_intent("later", "sms.long"), 30);
  EXPECT_EQ(explain("later")["code"], "waiting");
  EXPECT_NE(explained("later").find("due"), std::string::npos) << explained("later");
  EXPECT_NE(explained("later").find("provider_failure"), std::string::npos) << explained("later");
}

// M3
TEST_F(Commands, ExplainSaysWhichHostHasAnIntentInHand) {
  gateway.by_default(Reply::accept_when_released());
  post_intent(client(), sms_intent("now", "sms.patient"));
  ASSERT_TRUE(gateway.wait_for_count("now", 1));
  EXPECT_EQ(explain("now")["code"], "claimed");
  EXPECT_NE(explained("now").find(":" + std::to_string(host().pid())), std::string::npos) << explained("now");
  gateway.release();
}

// E15
TEST_F(Commands, ExplainSaysThatTheOnlyHostIsDeadAndWhatHappensNext) {
  setup.more = "limits: {per_target: 1}\n";
  gateway.by_default(Reply::hang());
  post_intent(client(), sms_intent("held", "sms.patient"));
  ASSERT_TRUE(gateway.wait_for_count("held", 1));
  post_intent(client(), sms_intent("behind", "sms.patient"));
  EXPECT_EQ(explain("held")["code"], "claimed");
  host().kill_hard();
  EXPECT_TRUE(eventually([&] { return explain("held")["code"] == "host_dead"; })) << explain("held");
  for (const auto* what : {"dead", "no host is running", "the first one that starts takes it back"})
    EXPECT_NE(explained("held").find(what), std::string::npos) << explained("held");
  EXPECT_EQ(explain("behind")["code"], "no_host") << explain("behind");
  gateway.by_default(Reply::accept());
  restart_host();
  EXPECT_EQ(wait_for_end(client(), "held")["status"], "accepted");
  EXPECT_EQ(wait_for_end(client(), "behind")["status"], "accepted");
}

// M3
TEST_F(Commands, ExplainSaysThatItsTargetIsAtItsLimit) {
  setup.more = "limits: {per_target: 1}\n";
  gateway.by_default(Reply::accept_when_released());
  post_intent(client(), sms_intent("first", "sms.patient"));
  ASSERT_TRUE(gateway.wait_for_count("first", 1));
  post_intent(client(), sms_intent("second", "sms.patient"));
  EXPECT_EQ(explain("second")["code"], "capped");
  EXPECT_NE(explained("second").find("limits.per_target"), std::string::npos) << explained("second");
  gateway.release();
  EXPECT_EQ(wait_for_end(client(), "second")["status"], "accepted");
}

// M3, E15: a limit that two targets share, and how many are due before it
class CommandsUnderALimit : public Commands, public ::testing::WithParamInterface<const char*> {};
TEST_P(CommandsUnderALimit, ExplainSaysWhichLimitItWaitsFor) {
  setup.more = std::string("limits: {") + GetParam() + ": 1}\n";
  gateway.by_default(Reply::accept_when_released());
  post_intent(client(), sms_intent("first", "sms.patient"));
  ASSERT_TRUE(gateway.wait_for_count("first", 1));
  post_intent(client(), sms_intent("second", "sms.attempts"));
  post_intent(client(), sms_intent("third", "sms.attempts"));
  EXPECT_EQ(explain("second")["code"], "capped") << explained("second");
  EXPECT_NE(explained("second").find(std::string("limits.") + GetParam()), std::string::npos) << explained("second");
  EXPECT_EQ(explained("second").find("due before it"), std::string::npos) << explained("second");
  EXPECT_NE(explained("third").find("1 of the same target is due before it"), std::string::npos) << explained("third");
  gateway.release();
  EXPECT_EQ(wait_for_end(client(), "third")["status"], "accepted");
}
INSTANTIATE_TEST_SUITE_P(Limits, CommandsUnderALimit, ::testing::Values("per_org", "per_host_name", "in_flight"),
                         [](const auto& one) { return std::string(one.param); });

// M3, E15
TEST_F(Commands, ExplainSaysThatABlockingPluginHasNoWorkerFree) {
  setup.registry = registry_of({target("stuck.blocking", "hangs_blocking", gateway.url(), "one_shot", 0, {"invalid_request"})});
  setup.more = "limits: {blocking_workers: 1}\ntimeouts: {attempt: 10m, lease: 12m, drain: 1s}\n";
  installation().add_plugin(bad_plugin("hangs"));
  post_intent(client(), intent("first", "stuck.blocking", json::object()));
  ASSERT_TRUE(host().wait_for_log("hanging"));
  post_intent(client(), intent("second", "stuck.blocking", json::object()));
  EXPECT_EQ(explain("second")["code"], "capped") << explained("second");
  EXPECT_NE(explained("second").find("limits.blocking_workers"), std::string::npos) << explained("second");
}

// E14, E15
TEST_F(Commands, ExplainSaysThatItsTargetIsBeingProbed) {
  setup.more = "limits: {per_target: 1}\n";
  gateway.by_default(Reply::accept_when_released());
  post_intent(client(), sms_intent("probe", "sms.patient"));
  ASSERT_TRUE(gateway.wait_for_count("probe", 1));
  post_intent(client(), sms_intent("behind", "sms.patient"));
  sql().execute(
      "INSERT INTO waybill.target_outages (org_id, target, until, reason, since) "
      "VALUES (1, 'sms.patient', now() - interval '1 second', 'http_503', now() - interval '1 minute')");
  EXPECT_EQ(explain("behind")["code"], "half_open") << explained("behind");
  EXPECT_NE(explained("behind").find("http_503"), std::string::npos) << explained("behind");
  gateway.release();
  EXPECT_EQ(wait_for_end(client(), "behind")["status"], "accepted");
}

// E14, E15
TEST_F(Commands, ExplainSaysThatItsTargetHasARate) {
  auto slow = target("sms.slow", "sms", gateway.url(), "one_shot", 0, {"invalid_request"});
  slow["rate"] = "1/h";
  installation().write_registry(registry_of({slow}));
  restart_host();
  post_intent(client(), sms_intent("first", "sms.slow"));
  ASSERT_TRUE(gateway.wait_for_count("first", 1));
  post_intent(client(), sms_intent("second", "sms.slow"));
  EXPECT_EQ(explain("second")["code"], "rate") << explained("second");
  EXPECT_NE(explained("second").find("1/h"), std::string::npos) << explained("second");
}

// T33: also where the contract of what waits is older than the rate
TEST_F(Commands, ARateThatIsSetAppliesToWhatWaitsAndExplainSaysSo) {
  auto slow = target("sms.slow", "sms", gateway.url(), "one_shot", 0, {"invalid_request"});
  installation().write_registry(registry_of({slow}));
  restart_host();
  post_intent(client(), sms_intent("before", "sms.slow"));
  ASSERT_TRUE(gateway.wait_for_count("before", 1));
  sql().execute(
      "INSERT INTO waybill.target_outages (org_id, target, until, reason) VALUES (1, 'sms.slow', now() + interval '1 day', "
      "'held')");
  post_intent(client(), sms_intent("first", "sms.slow"));
  post_intent(client(), sms_intent("second", "sms.slow"));
  slow["rate"] = "1/h";
  installation().write_registry(registry_of({slow}));
  const auto reloaded = installation().command({"reload"});
  ASSERT_EQ(reloaded.exit_code, 0) << reloaded.err;
  sql().execute("DELETE FROM waybill.target_outages");
  ASSERT_TRUE(gateway.wait_for_count("first", 1));
  EXPECT_EQ(explain("second")["code"], "rate") << explained("second");
  EXPECT_EQ(gateway.count("second"), 0u);
}

// M3, H2
TEST_F(Commands, ExplainSaysThatThePluginIsMissing) {
  gateway.script("orphan", {Reply::reject("provider_failure")});
  post_intent(client(), sms_intent("orphan", "sms.patient"), 30);
  EXPECT_EQ(host().terminate(), 0);
  installation().remove_plugin("sms");
  installation().write_registry(registry_of({target("push.only", "push", gateway.url(), "one_shot", 0, {"invalid_request"})}));
  restart_host();
  EXPECT_EQ(client().get("/readyz").status, 200);  // the missing plugin holds up its own work only
  post_intent(client(), push_intent("other", "push.only"), 30);
  EXPECT_EQ(wait_for_end(client(), "other")["status"], "accepted");
  EXPECT_EQ(explain("orphan")["code"], "plugin_missing");
  EXPECT_NE(explained("orphan").find("sms"), std::string::npos) << explained("orphan");
  EXPECT_EQ(get_intent(client(), "orphan")["status"], "pending");
  installation().add_plugin(built_plugin("sms"));
  gateway.script("orphan", {Reply::accept()});
  EXPECT_EQ(host().terminate(), 0);
  restart_host();
  EXPECT_EQ(wait_for_end(client(), "orphan")["status"], "accepted");
}

// M3
TEST_F(Commands, ExplainSaysThatTheTargetRests) {
  gateway.by_default(Reply::too_many_requests(600));  // every other delivery would fare the same
  post_intent(client(), intent("first", "hook.attempts", {{"n", 1}}), 30);
  post_intent(client(), intent("second", "hook.attempts", {{"n", 2}}));
  EXPECT_EQ(explain("second")["code"], "target_rests");
  EXPECT_NE(explained("second").find("hook.attempts"), std::string::npos) << explained("second");
  EXPECT_EQ(get_intent(client(), "second")["status"], "pending");
}

// M3
TEST_F(Commands, ExplainSaysThatNoHostRuns) {
  gateway.by_default(Reply::reject("provider_failure"));
  post_intent(client(), sms_intent("alone", "sms.patient"), 30);
  EXPECT_EQ(host().terminate(), 0);
  EXPECT_TRUE(eventually([&] { return explain("alone")["code"] == "no_host"; }));
}

// M3
TEST_F(Commands, ExplainDoesNotKnowAStranger) {
  host();
  const auto result = installation().command({"explain", "nobody"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE((result.out + result.err).find("nobody"), std::string::npos);
}

// The commands below each group, or the group itself, as `waybill --help` lists them: "token create".
std::vector<std::string> all_commands(const std::string& group = "") {
  Words arguments{waybill_program().string()};
  std::istringstream words(group);
  for (std::string word; words >> word;) arguments.push_back(word);
  arguments.emplace_back("--help");
  std::istringstream help(run({.arguments = arguments}).out);
  std::vector<std::string> all;
  bool are_listed = false;
  for (std::string line; std::getline(help, line);) {
    are_listed = (are_listed || line.starts_with("Subcommands:")) && !line.starts_with("Examples:");
    if (!are_listed || line.size() < 3 || !line.starts_with("  ") || line[2] == ' ') continue;
    const auto name = line.substr(2, line.find(' ', 2) - 2);
    for (auto& one : all_commands(group.empty() ? name : group + " " + name)) all.push_back(std::move(one));
  }
  if (all.empty()) all.push_back(group);
  return all;
}

// T26
TEST_F(Commands, NoneButMigrateAndServeMakesASchema) {
  use_empty_database();
  const std::set<std::string> need_none{"serve",         "migrate",          "check",
                                        "doctor",  // tells it as a finding: doctor_database_test.cpp
                                        "plugin list",   "plugin new",       "plugin check",   "form preview",
                                        "form simulate", "plugin switch-on", "provider probe", "provider failures",
                                        "pipeline list", "pipeline show",    "drain",          "completion",
                                        "manual",        "org verify"};
  const std::map<std::string, Words> arguments{{"explain", {"x"}},
                                               {"hosts drain", {"x", "--reason", "y"}},
                                               {"hosts resume", {"x"}},
                                               {"registry diff", {"1"}},
                                               {"registry rollback", {"1"}},
                                               {"dead show", {"1"}},
                                               {"dead edit", {"1", "--destination", "a@x.test"}},
                                               {"dead replay", {"1"}},
                                               {"dead clone", {"1", "y"}},
                                               {"archive show", {"x"}},
                                               {"provider status", {"x"}},
                                               {"proof", {"x"}},
                                               {"waiting end", {"--target", "sms.once", "--reason", "x"}},
                                               {"waiting reroute", {"--target", "sms.once", "--to", "sms.attempts"}},
                                               {"target pause", {"sms.once", "--reason", "x"}},
                                               {"target resume", {"sms.once"}},
                                               {"pipeline rerun", {"x", "--state", "SEND"}},
                                               {"pipeline skip", {"x"}},
                                               {"pipeline end", {"x", "--state", "SENT"}},
                                               {"org create", {"acme"}},
                                               {"org show", {"default"}},
                                               {"org weight", {"acme", "2"}},
                                               {"org disable", {"acme"}},
                                               {"org enable", {"acme"}},
                                               {"org export", {"default"}},
                                               {"org import", {"/dev/null"}},
                                               {"org erase", {"acme", "--confirm", "acme", "--certificate", "/tmp/no-such-file"}},
                                               {"restore-fence", {"--since", "2026-11-23T09:30:00Z"}},
                                               {"token create", {"--name", "shop"}},
                                               {"token revoke", {"shop"}}};
  setup.more = "secrets: { master: { env: MASTER } }\nnotify: { key: master }\n";
  std::size_t tried = 0;
  for (const auto& command : all_commands()) {
    if (need_none.contains(command)) continue;
    ++tried;
    Words words;
    std::istringstream parts(command);
    for (std::string word; parts >> word;) words.push_back(word);
    if (const auto more = arguments.find(command); more != arguments.end())
      words.insert(words.end(), more->second.begin(), more->second.end());
    const auto result = installation().command(words, {{"MASTER", "of more than 32 bytes, for this test"}});
    EXPECT_EQ(result.exit_code, 1) << command << ": " << result.out;
    EXPECT_NE(result.err.find("run `waybill migrate`"), std::string::npos) << command << ": " << result.err;
  }
  EXPECT_GE(tried, 25u);
  EXPECT_EQ(sql().number("SELECT count(*) FROM pg_namespace WHERE nspname = 'waybill'"), 0);
}

// T26: nor the private database
TEST_F(Commands, NoneButMigrateAndServeMakesAPrivateDatabase) {
  const TempFolder folder;
  setup.database_url.clear();
  setup.embedded = folder.path() / "pg";
  for (const Words& command : {Words{"token", "list"}, Words{"reload"}, Words{"dead", "list"}, Words{"roles"}}) {
    const auto result = installation().command(command);
    EXPECT_EQ(result.exit_code, 1) << command[0] << ": " << result.out;
    EXPECT_NE(result.err.find("run `waybill migrate`"), std::string::npos) << command[0] << ": " << result.err;
  }
  EXPECT_FALSE(std::filesystem::exists(setup.embedded));
}

// M13
TEST_F(Commands, ReloadWithoutAHostFails) {
  const auto result = installation().command({"reload"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("no host of this installation is running"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace waybill::testing
