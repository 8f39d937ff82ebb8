// `waybill check`: each mistake is named with its place and what would mend it; with --online, what is behind the settings as
// well.
#include <gtest/gtest.h>

#include "support/forms_world.h"
#include "support/transaction_pooler.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Check : public World {
 protected:
  // What `waybill check` says when it refuses.
  std::string refusal(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"check"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = installation().command(arguments);
    EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
    return result.out + result.err;
  }
  // The number of the line of waybill.yaml that begins so.
  std::string line_of(const std::string& begin) {
    std::istringstream in(read_file(installation().config()));
    int number = 1;
    for (std::string line; std::getline(in, line); ++number)
      if (line.starts_with(begin)) return "waybill.yaml:" + std::to_string(number) + ": ";
    ADD_FAILURE() << "no line begins with " << begin;
    return {};
  }
  static void expect_words(const std::string& said, const std::vector<std::string>& words) {
    for (const auto& word : words) EXPECT_NE(said.find(word), std::string::npos) << word << " is not in:\n" << said;
  }
};

TEST_F(Check, NamesTheLineOfWhatIsWrongWithASendersSettings) {  // D11
  setup.plugins = {"email_raw", "sms", "push", "webhook"};
  setup.more =
      "senders:\n"
      "  email_raw:\n"
      "    from: Forms <forms@example.org>\n"
      "    relay: localhost:25\n"
      "  sms:\n"
      "    timeout: 5\n";
  const auto said = refusal();
  expect_words(said, {line_of("    relay") + "senders.email_raw.relay: does not have the form that it must have",
                      "such as smtp://localhost:25", line_of("    timeout") + "senders.sms.timeout: unknown field",
                      "did you mean \"timeout_ms\"?"});
  for (const char* jargon : {"constraint", "schema", "regex", "propert"}) EXPECT_EQ(said.find(jargon), std::string::npos) << said;
}

TEST_F(Check, WarnsWhereOneTimeLimitCutsAnother) {  // T25
  const auto original = read_file(installation().config());
  std::string drain = "20m";
  const auto check_with = [&](const std::string& more) {
    write_file(installation().config(), original + more);
    return installation().command({"check"}, {{"WAYBILL_TIMEOUTS_DRAIN", drain}});
  };
  const auto useless = check_with("senders:\n  sms:\n    timeout_ms: 90000\n");
  EXPECT_EQ(useless.exit_code, 0) << useless.out << useless.err;
  expect_words(useless.out + useless.err,
               {line_of("    timeout_ms") + "senders.sms.timeout_ms: has no effect", "timeouts.attempt"});
  auto slow = target("sms.slow", "sms", gateway.url(), "one_shot", 0, {"invalid_request"});
  slow["timeout"] = "90s";
  installation().write_registry(registry_of({slow}));
  const auto enough = check_with("senders:\n  sms:\n    timeout_ms: 90000\n");
  EXPECT_EQ(enough.exit_code, 0) << enough.out << enough.err;
  EXPECT_EQ((enough.out + enough.err).find("timeout"), std::string::npos) << enough.out << enough.err;
  const auto cut = check_with("senders:\n  sms:\n    timeout_ms: 10000\n");
  EXPECT_EQ(cut.exit_code, 0) << cut.out << cut.err;
  expect_words(cut.out + cut.err, {"sms.slow", "10s (senders.sms.timeout_ms)", "90s"});
  drain = "20s";
  const auto stopped = check_with("");
  EXPECT_EQ(stopped.exit_code, 0) << stopped.err;
  expect_words(stopped.out + stopped.err,
               {"sms.slow", "an attempt of 90s is cut when its host stops, which waits for 20s (timeouts.drain)"});
  drain = "20m";
  slow["timeout"] = "50m";
  installation().write_registry(registry_of({slow}));
  const auto beyond = check_with("");
  EXPECT_EQ(beyond.exit_code, 1);
  expect_words(beyond.out + beyond.err, {"sms.slow", "timeouts.lease"});
  auto urgent = target("sms.urgent", "sms", gateway.url(), "deadline", 30, {"invalid_request"});
  urgent["timeout"] = "40s";
  installation().write_registry(registry_of({urgent}));
  const auto late = check_with("");
  EXPECT_EQ(late.exit_code, 0) << late.err;
  expect_words(late.out + late.err, {"sms.urgent", "an attempt of 40s is cut by its maxAcceptanceSeconds, 30s"});
}

TEST_F(Check, RefusesNamesThatNobodyKnowsAndSuggestsTheNearest) {  // D11
  setup.plugins = {"email_raw", "sms", "push", "webhook"};
  setup.retry += "\n  emailraw: {kind: fixed, delay: 1s}";
  setup.more =
      "senders:\n"
      "  webhok: {}\n"
      "alerts:\n"
      "  target: sms.deadlin\n"
      "failure_check:\n"
      "  targets: [sms.once, sms.onse]\n"
      "limits:\n"
      "  per_traget: 3\n";
  auto said = refusal();
  expect_words(said, {line_of("  per_traget") + "limits.per_traget: unknown key", "did you mean \"per_target\"?"});
  auto text = read_file(installation().config());
  write_file(installation().config(), text.substr(0, text.find("limits:")));
  said = refusal();
  expect_words(said,
               {line_of("  emailraw") + "retry.emailraw: no loaded plugin has this action type", "did you mean \"email_raw\"?",
                line_of("  webhok") + "senders.webhok: no loaded plugin", "did you mean \"webhook\"?",
                line_of("  target:") + "alerts.target: the registry has no target", "did you mean \"sms.deadline\"?",
                line_of("  targets:") + "failure_check.targets[1]: the registry has no target", "did you mean \"sms.once\"?"});
  EXPECT_EQ(said.find("targets[0]"), std::string::npos) << said;
}

TEST_F(Check, NamesTheLineOfATab) {  // D11
  setup.more = "limits:\n\tin_flight: 5\n";
  expect_words(refusal(), {line_of("\tin_flight"), "the line is indented with a tab; indent with spaces"});
}

TEST_F(Check, NamesTheLinesOfTls) {  // D11
  setup.more = "tls:\n  certificate: ./no-such.pem\n  key: ./no-such.key\n";
  expect_words(refusal(), {line_of("  certificate") + "tls.certificate: ", "no-such.pem: No such file or directory"});
}

TEST_F(Check, KnowsWhichSecretsAreAskedFor) {  // D11
  setup.plugins = {"email_raw", "sms", "push", "webhook"};
  auto targets = standard_targets(gateway.url());
  auto hook = target("hook.signed", "webhook", "https://example.org/hook", "max_attempts", 3, {"gone"});
  hook["destination"] = {{"secret", "ordres"}, {"headers", {{"X-Key", "Bearer {secret:partner}"}}}};
  targets.push_back(hook);
  setup.registry = registry_of(targets);
  setup.more =
      "senders:\n"
      "  email_raw:\n"
      "    from: Forms <forms@example.org>\n"
      "    user: forms\n"
      "    password_secret: relay\n"
      "secrets:\n"
      "  orders: {env: ORDERS}\n";
  const auto result = installation().command({"check"}, {{"ORDERS", "value-of-it"}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_words(result.err,
               {"targets.json:", "targets[8].destination.secret: target \"hook.signed\": there is no secret \"ordres\"",
                "did you mean \"orders\"?", "targets[8].destination.headers.X-Key", "there is no secret \"partner\"",
                line_of("    password_secret") + "senders.email_raw.password_secret: there is no secret \"relay\""});
  EXPECT_EQ((result.out + result.err).find("value-of-it"), std::string::npos);
}

TEST_F(Check, SaysWhichFileItLookedFor) {  // D11
  TempFolder empty;
  const auto waybill = waybill_program().string();
  const auto none = run({.arguments = {waybill, "check"}, .folder = empty.path()});
  EXPECT_EQ(none.exit_code, 1);
  expect_words(none.err, {"there is no configuration file: looked for " + (empty.path() / "waybill.yaml").string(), "--config",
                          "/etc/waybill/waybill.yaml", "waybill check && waybill migrate"});
  const auto other = run({.arguments = {waybill, "check", "--config", "other.yaml"}, .folder = empty.path()});
  expect_words(other.err, {"other.yaml: there is no such file (looked for " + (empty.path() / "other.yaml").string() + ")"});
}

TEST_F(Check, SuggestsTheNearestCommand) {  // D11
  const auto said = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), waybill_program().string());
    const auto result = run({.arguments = arguments});
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  };
  EXPECT_EQ(said({"chekc"}), "waybill: there is no command \"chekc\"; did you mean \"check\"? `waybill --help` lists them\n");
  expect_words(said({"-c", "x.yaml", "dead", "lsit"}), {"there is no command \"lsit\"; did you mean \"list\"?"});
  expect_words(said({"dance"}), {"there is no command \"dance\"", "`waybill --help`"});
  EXPECT_EQ(said({"dance"}).find("did you mean"), std::string::npos);
}

TEST_F(Check, NamesTheLineOfBrokenJsonInFields) {  // D11
  write_file(installation().folder() / "fields.json", "{\n  \"name\": \"Ada\",\n  \"email\" \"ada@example.net\"\n}\n");
  const auto result = installation().command({"dead", "edit", "1", "--fields", "fields.json"});
  EXPECT_EQ(result.exit_code, 1);
  expect_words(result.err, {"--fields: fields.json:3: "});
}

// A host that cannot start says so in the format of its log, to its last line.
TEST_F(Check, AFatalStartLineIsInTheLogsFormat) {  // D12
  const auto lines_of_start = [&] {
    const auto result = installation().command({"serve"});
    EXPECT_EQ(result.exit_code, 1);
    std::vector<json> lines;
    std::istringstream in(result.out + result.err);
    for (std::string line; std::getline(in, line);) {
      lines.push_back(json::parse(line, nullptr, false));
      EXPECT_TRUE(lines.back().is_object()) << line;
    }
    EXPECT_FALSE(lines.empty());
    return lines;
  };
  setup.more = "alerts: {target: nobody}\n";
  auto lines = lines_of_start();
  EXPECT_EQ(lines.back()["event"], "host.not_started");
  EXPECT_NE(lines.at(lines.size() - 2).dump().find("alerts.target"), std::string::npos) << lines.at(lines.size() - 2);
  write_file(installation().config(), "listen: nowhere\n");
  lines = lines_of_start();
  EXPECT_EQ(lines.back()["event"], "host.not_started");
  write_file(installation().config(), "database: {url: \"host=/nowhere\"}\nlog: {format: json}\n");
  write_file(installation().folder() / "plugins" / "none", "");
  lines = lines_of_start();
  EXPECT_EQ(lines.back()["event"], "host.not_started");
  EXPECT_NE(lines.back().dump().find("/nowhere"), std::string::npos) << lines.back();
}

class OnlineCheck : public FormsWorld {
 protected:
  OnlineCheck() {
    for (const char* plugin : {"sms", "push"}) setup.plugins.emplace_back(plugin);
    setup.registry = registry_of(standard_targets(gateway.url()));
  }
  CommandResult check() { return installation().command({"check", "--online", "--json"}); }
  // The findings by what they are about.
  std::map<std::string, json> findings(const CommandResult& result) {
    std::map<std::string, json> all;
    const auto answer = json::parse(result.out);
    for (const auto& finding : answer.at("online")) {
      EXPECT_TRUE(finding.at("level") == "ok" || !finding.at("remedy").get<std::string>().empty()) << finding;
      auto& known = all.try_emplace(finding.at("what").get<std::string>(), finding).first->second;
      if (known != finding)
        known["message"] = known["message"].get<std::string>() + " | " + finding["message"].get<std::string>();
    }
    return all;
  }
  static std::string level(const std::map<std::string, json>& all, const std::string& what) {
    const auto found = all.find(what);
    return found == all.end() ? "absent" : found->second.at("level").get<std::string>();
  }
};

TEST_F(OnlineCheck, FindsAnInstallationGoodThatIs) {  // D11
  const auto result = check();
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  const auto all = findings(result);
  for (const char* what : {"database", "database connections", "database schema", "database rights", "links.key",
                           "relay of email_raw", "target sms.deadline", "target hook.once"})
    EXPECT_EQ(level(all, what), "ok") << what << "\n" << result.out;
  EXPECT_EQ(mail.received().size(), 0u);
  EXPECT_EQ(gateway.count(), 0u) << "nothing is sent";
  const auto people = installation().command({"check", "--online"});
  EXPECT_EQ(people.exit_code, 0);
  EXPECT_NE(people.out.find("ok       database "), std::string::npos) << people.out;
}

TEST_F(OnlineCheck, NamesWhatCannotBeReached) {  // D11
  auto targets = standard_targets(gateway.url());
  targets[0]["gatewayUrl"] = "http://127.0.0.1:1/closed";
  targets[1]["gatewayUrl"] = "https://127.0.0.1:" + gateway.url().substr(gateway.url().rfind(':') + 1);
  setup.registry = registry_of(targets);
  relay_to("smtp://127.0.0.1:1");
  const auto result = check();
  EXPECT_EQ(result.exit_code, 1);
  const auto all = findings(result);
  EXPECT_EQ(level(all, "relay of email_raw"), "problem") << result.out;
  EXPECT_EQ(level(all, "target " + targets[0]["submissionTarget"].get<std::string>()), "problem") << result.out;
  EXPECT_EQ(level(all, "target " + targets[1]["submissionTarget"].get<std::string>()), "problem") << "it speaks no TLS";
  EXPECT_EQ(level(all, "target " + targets[2]["submissionTarget"].get<std::string>()), "ok");
}

TEST_F(OnlineCheck, AsksAPluginThatCanProbe) {  // D11
  setup.registry = registry_of({target("to.parcel", "parcel", gateway.url(), "max_attempts", 3, {"refused"})});
  installation().add_plugin(built_example("parcel"));
  EXPECT_EQ(findings(check())["target to.parcel"]["message"], "its plugin can reach it");
  gateway.by_default(Reply::http_error(503));
  const auto result = check();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(level(findings(result), "target to.parcel"), "problem") << result.out;
  for (const auto& request : gateway.received()) EXPECT_EQ(request.method + " " + request.path, "GET /health");
}

TEST_F(OnlineCheck, NamesWhatTheDatabaseLacks) {  // D11
  SqlClient admin(setup.database_url);
  const auto superuser = setup.database_url;
  ASSERT_EQ(installation().command({"roles"}).exit_code, 0);
  cluster().create_role("waybill_checked", "LOGIN CONNECTION LIMIT 20");
  admin.execute("GRANT waybill_app TO waybill_checked");
  admin.execute("REVOKE INSERT ON waybill.attempts FROM waybill_app");
  admin.execute("ALTER ROLE waybill_checked SET synchronous_commit TO off");
  const auto as = [&](const std::string& url) {
    return installation().command({"check", "--online", "--json"}, {{"WAYBILL_DATABASE_URL", url}});
  };
  auto result = as(as_role(superuser, "waybill_checked"));
  EXPECT_EQ(result.exit_code, 1);
  auto all = findings(result);
  EXPECT_EQ(level(all, "database"), "ok") << result.out;
  EXPECT_EQ(level(all, "database rights"), "problem");
  EXPECT_NE(all["database rights"].dump().find("INSERT on attempts"), std::string::npos) << all["database rights"];
  EXPECT_EQ(level(all, "database settings"), "warning");
  EXPECT_NE(all["database settings"].dump().find("synchronous_commit"), std::string::npos);
  EXPECT_EQ(level(all, "database connections"), "warning");
  EXPECT_NE(all["database connections"].dump().find("CONNECTION LIMIT of the role"), std::string::npos);
  const TransactionPooler pooler(superuser);
  result = as(pooler.url());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(findings(result)["database"].dump().find("pool"), std::string::npos) << result.out;
  result = as("host=/nowhere dbname=x");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(level(findings(result), "database"), "problem") << result.out;
  admin.execute("DROP SCHEMA waybill CASCADE");
  result = installation().command({"check", "--online", "--json"});
  EXPECT_EQ(level(findings(result), "database schema"), "warning") << "serve makes it: " << result.out;
  result = installation().command({"check", "--online", "--json"}, {{"WAYBILL_DATABASE_MIGRATE", "false"}});
  EXPECT_EQ(level(findings(result), "database schema"), "problem") << result.out;
  EXPECT_EQ(result.exit_code, 1);
}

}  // namespace
}  // namespace waybill::testing
