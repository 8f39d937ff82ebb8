// Alerts on their way to a Slack-compatible webhook: told once, again with their count, retried, and never about themselves.
#include <gtest/gtest.h>
#include <signal.h>

#include <sstream>

#include "support/forms_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Alerts : public World {
 protected:
  Alerts() {
    slack.by_default(ok());
    registry_with(target("ops.slack", "webhook", slack.url(), "deadline", 600, {"gone"}));
    setup.more = "alerts: {target: ops.slack}\n";
  }

  static Reply ok() { return {.body = "ok"}; }

  void registry_with(const json& ops) {
    auto targets = standard_targets(gateway.url());
    targets.push_back(ops);
    setup.registry = registry_of(targets);
  }

  // As whoever notices it would, in a transaction of its own.
  void raise(const std::string& about, const std::string& words = "what happened") {
    sql().execute("SET search_path TO waybill");
    sql().rows("SELECT raise_alert(1, 'dead_letter', '" + about + "', '" + words + "')");
  }

  std::int64_t messages(const std::string& state = "%") {
    return sql().number("SELECT count(*) FROM waybill.submission_states WHERE kind = 'alert' AND state LIKE '" + state + "'");
  }
  std::int64_t untold() { return sql().number("SELECT count(*) FROM waybill.alerts WHERE told < count"); }
  // All that was ever handed in for the alert target.
  std::string all_texts() {
    return sql().text(
        "SELECT coalesce(string_agg(convert_from(body, 'UTF8'), ' '), '') FROM waybill.submissions WHERE kind = 'alert'");
  }
  std::vector<std::string> texts_at_slack() {
    std::vector<std::string> texts;
    for (const auto& request : slack.received()) texts.push_back(json::parse(request.body).at("text"));
    return texts;
  }
  // The first text with these words; empty while there is none. A slow machine may raise incidents of its own beside it.
  std::string text_with(const std::string& words) {
    for (auto& text : texts_at_slack())
      if (text.find(words) != std::string::npos) return text;
    return {};
  }
  bool slack_hears(const std::string& words) {
    return slack.wait_for([&] { return !text_with(words).empty(); });
  }

  // Runs each command in the messages with these words, as pasted into a shell; each must succeed. Returns how many there were.
  int run_what_can_be_pasted(const std::string& words = "") {
    int pasted = 0;
    for (const auto& text : texts_at_slack()) {
      if (text.find(words) == std::string::npos) continue;
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("waybill ")) continue;
        ++pasted;
        const auto result = run({.arguments = {"/bin/sh", "-c", waybill_program().string() + line.substr(7)},
                                 .environment = {{"WAYBILL_CONFIG", installation().config().string()}}});
        EXPECT_EQ(result.exit_code, 0) << line << ": " << result.err;
      }
    }
    return pasted;
  }

  FakeGateway slack;
};

// F13
TEST_F(Alerts, TwoHostsTellEachIncidentOnce) {
  host();
  const Installation second_place(setup);
  Daemon second(second_place);
  for (int i = 0; i < 15; ++i) raise("target:" + std::to_string(i));
  ASSERT_TRUE(eventually([&] { return untold() == 0 && messages("accepted") == 15; }));
  EXPECT_EQ(messages(), 15);
  EXPECT_EQ(slack.counts().size(), 15u);
  EXPECT_EQ(slack.count(), 15u);
  const auto text = text_with("dead_letter: what happened");
  EXPECT_NE(text.find("runbook.md#dead_letter"), std::string::npos) << text;
  auto second_client = second.client();
  const char* name = "submission_alerts_total{kind=\"dead_letter\"}";
  EXPECT_TRUE(eventually([&] { return metric(client(), name) + metric(second_client, name) == 15; }))
      << "a host counts what it found once that is committed; the other may have told it by then";
}

// F13
TEST_F(Alerts, AnIncidentThatGoesOnIsToldAgainWithItsCount) {
  setup.more = "alerts: {target: ops.slack, quiet: 1s}\n";
  host();
  raise("target:a", "the first");
  ASSERT_TRUE(slack_hears("the first"));
  raise("target:a", "the second");
  raise("target:a", "the third");
  ASSERT_TRUE(slack_hears("the third"));
  ASSERT_TRUE(eventually([&] { return untold() == 0; }));
  EXPECT_TRUE(slack_hears("3 times since"));
}

// F13
TEST_F(Alerts, ManyIncidentsAtOnceAreOneMessage) {
  for (int i = 0; i < 50; ++i) raise("target:" + std::to_string(i));
  host();
  ASSERT_TRUE(slack_hears("50 incidents at once"));
  ASSERT_TRUE(eventually([&] { return untold() == 0; }));
  EXPECT_EQ(messages(), 1);
}

// F13
TEST_F(Alerts, AnAlertIsRetriedUntilItsTargetTakesIt) {
  slack.by_default(Reply::http_error(500));
  host();
  raise("target:a");
  ASSERT_TRUE(slack.wait_for([&] { return slack.count() >= 3; }));
  slack.by_default(ok());
  ASSERT_TRUE(eventually([&] { return messages("accepted") == 1; }));
  EXPECT_EQ(slack.counts().size(), 1u) << "one message, under one id";
}

// F13
TEST_F(Alerts, AnAlertTargetThatIsDownForEverRaisesNoAlert) {
  registry_with(target("ops.slack", "webhook", slack.url(), "max_attempts", 2, {"gone"}));
  setup.more = "alerts: {target: ops.slack, quiet: 1s, stuck: 1s, digest_every: 1s}\n";
  slack.by_default(Reply::http_error(500));
  gateway.by_default(Reply::http_error(500));
  host();
  raise("target:a");
  ASSERT_TRUE(eventually([&] { return messages("exhausted") == 1; }));
  EXPECT_TRUE(host().wait_for_log("\"alert.not_delivered\""));
  EXPECT_TRUE(eventually([&] { return metric(client(), "submission_alerts_not_delivered_total") >= 1; }));
  // Somebody else's failure is told, so a digest has been made since.
  post_intent(client(), sms_intent("fails", "sms.once"));
  ASSERT_TRUE(eventually([&] { return all_texts().find("sms.once") != std::string::npos; }));
  ASSERT_TRUE(eventually([&] { return messages("pending") == 0; }));
  EXPECT_GE(messages("exhausted"), 2);
  EXPECT_EQ(all_texts().find("ops.slack"), std::string::npos) << all_texts();
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.provider_failures WHERE target = 'ops.slack'"), 0);
}

// F13
TEST_F(Alerts, FailuresOfProvidersAreToldAsATableWhenTheirPeriodIsOver) {
  setup.more = "alerts: {target: ops.slack, digest_every: 1s}\n";
  gateway.by_default(Reply::http_error(503));
  post_intent(client(), sms_intent("fails", "sms.once"));
  ASSERT_TRUE(slack_hears("one attempt failed between"));
  const auto text = text_with("one attempt failed between");
  EXPECT_NE(text.find("sms.once"), std::string::npos) << text;
  EXPECT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.provider_failures") == 0; }));
}

// D12: what a digest prints can be pasted into a shell, and names what the commands know
TEST_F(Alerts, CommandsOfADigestCanBePasted) {
  setup.more = "alerts: {target: ops.slack, digest_every: 1s}\n";
  gateway.by_default(Reply::http_error(503));
  post_intent(client(), sms_intent("fails", "sms.once"));
  ASSERT_TRUE(slack_hears("waybill provider probe sms.once"));
  raise("sms.once:server_error");
  ASSERT_TRUE(slack_hears("waybill dead list --reason=server_error"));
  EXPECT_GE(run_what_can_be_pasted(), 2);
}

// T29: of an incident as the check itself names it.
TEST_F(Alerts, TheCommandOfAFailureDigestCanBePasted) {
  host();
  sql().execute(
      "INSERT INTO waybill.failure_digests (org_id, digest_id, tick, by_hand, begun_at, finished_at, targets, problems, "
      "failures, by_status) "
      "VALUES (1, 4711, now(), true, now(), now(), '{}', '{}', 0, '{}')");
  sql().execute("SET search_path TO waybill");
  sql().rows("SELECT raise_alert(1, 'failed_messages', 'digest-4711', 'one message')");
  ASSERT_TRUE(slack_hears("waybill failures list --digest=4711"));
  EXPECT_EQ(run_what_can_be_pasted("--digest=4711"), 1);
}

// T29: each kind of command that an alert may end with
TEST_F(Alerts, TheFirstStepOfEachKindCanBePasted) {
  setup.more = "alerts: {target: ops.slack, digest_every: 1s}\n";
  setup.pipelines["mail.json"] = R"({
    "pipeline": "mail", "initial": "SEND",
    "states": { "SEND": { "run": [{ "target": "hook.once" }] }, "SENT": { "terminal": true } },
    "transitions": [{ "from": "SEND", "to": "SENT", "trigger": "sent", "actor": "worker" }]
  })";
  host();
  sql().execute("SET search_path TO waybill");
  for (const auto& [kind, about] : {std::pair("pipeline_stuck", "mail/SEND"), {"secret_locked", "k1"}, {"plugin_crash", "sms"}})
    sql().rows("SELECT raise_alert(1, '" + std::string(kind) + "', '" + about + "', 'it happened')");
  sql().execute(
      "INSERT INTO provider_failures (org_id, since, until, action_type, target, reason, count) VALUES "
      "(1, now() - interval '2 hours', now() - interval '1 hour', 'email_raw', 'form:contact us', 'timeout', 2)");
  for (const auto* line : {"waybill pipeline show mail", "waybill keys give-up", "waybill dead list --reason=worker_lost",
                           "waybill dead list --form='contact us'"}) {
    ASSERT_TRUE(slack_hears(line)) << line;
    EXPECT_GE(run_what_can_be_pasted(line), 1) << line;
  }
}

// F13
TEST_F(Alerts, WorkThatNobodyTakesIsToldWithTheReason) {
  setup.plugins = {"webhook"};
  setup.more = "alerts: {target: ops.slack, stuck: 1s}\n";
  post_intent(client(), sms_intent("stuck-1", "sms.patient"));
  ASSERT_TRUE(slack_hears("no plugin for action type sms"));
  const auto text = text_with("no plugin for action type sms");
  EXPECT_NE(text.find("deliveries to sms.patient are due and not taken: 1; the oldest is \"stuck-1\""), std::string::npos)
      << text;
  EXPECT_EQ(run_what_can_be_pasted("no plugin for action type sms"), 1) << "T29";
}

// F13
TEST_F(Alerts, WithoutAnAlertTargetIncidentsAreLoggedAndCounted) {
  setup.more = "";
  host();
  raise("target:a");
  EXPECT_TRUE(host().wait_for_log("\"event\":\"alert.raised\""));
  EXPECT_TRUE(eventually([&] { return metric(client(), "submission_alerts_total{kind=\"dead_letter\"}") == 1; }));
  EXPECT_EQ(messages(), 0);
}

// F13: each step of a notification is a commit of its own; the host dies while it waits for one of them.
class KilledWhileTelling : public Alerts, public ::testing::WithParamInterface<const char*> {};

TEST_P(KilledWhileTelling, TheNextHostTellsItAndNobodyTwice) {
  host();
  SqlClient gate(setup.database_url);
  gate.rows("SELECT pg_advisory_lock(4711)");
  sql().execute(
      "CREATE FUNCTION waybill.wait_here() RETURNS trigger LANGUAGE plpgsql AS "
      "$$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END $$");
  sql().execute(std::string("CREATE TRIGGER wait_here BEFORE ") + GetParam() + " EXECUTE FUNCTION waybill.wait_here()");
  const std::string waiting = " FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted";
  raise("target:a");
  ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*)" + waiting) == 1; }));
  const auto before = messages();
  host().kill_hard();
  sql().rows("SELECT pg_terminate_backend(pid)" + waiting);
  ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*)" + waiting) == 0; }));
  EXPECT_EQ(untold(), 1);
  EXPECT_EQ(messages(), before);
  gate.rows("SELECT pg_advisory_unlock(4711)");
  raise("target:a", "more has happened since");
  restart_host();
  ASSERT_TRUE(eventually([&] { return sql().text("SELECT told || ' ' || (telling IS NULL) FROM waybill.alerts") == "1 true"; }));
  ASSERT_TRUE(eventually([&] { return messages("accepted") == 1; }));
  EXPECT_EQ(messages(), 1);
  EXPECT_EQ(slack.counts().size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Alerts, KilledWhileTelling,
                         ::testing::Values("INSERT ON waybill.submissions FOR EACH ROW WHEN (NEW.kind = 'alert')",
                                           "UPDATE ON waybill.alerts FOR EACH ROW WHEN (NEW.told > OLD.told)"));

// ---- what the configuration says ----

// F13, M13
TEST_F(Alerts, AnAlertTargetThatTheRegistryDoesNotHaveIsRefusedByName) {
  setup.more = "alerts: {target: ops.slak}\n";
  for (const auto* command : {"check", "serve"}) {
    const auto result = installation().command({command});
    EXPECT_EQ(result.exit_code, 1) << command;
    for (const auto* part : {"waybill.yaml", "alerts.target", "ops.slak", "ops.slack, push.attempts"})
      EXPECT_NE((result.out + result.err).find(part), std::string::npos) << part << " in " << result.out << result.err;
  }
}

// F13, M13
TEST_F(Alerts, AReloadDoesNotTakeTheAlertTargetAway) {
  host();
  installation().write_registry(registry_of(standard_targets(gateway.url())));
  host().signal(SIGHUP);
  EXPECT_TRUE(host().wait_for_log("registry.refused"));
  EXPECT_NE(host().log().find("alerts.target"), std::string::npos);
  raise("target:a");
  EXPECT_TRUE(slack_hears("what happened"));
  EXPECT_EQ(installation().command({"reload"}).exit_code, 1);
}

TEST_F(Alerts, CheckFindsALinkKeyThatIsNoServiceAccount) {
  setup.more = "secrets: {links: {env: NOT_A_SERVICE_ACCOUNT}}\nlinks: {key: links}\n";
  const auto result = installation().command({"check"}, {{"NOT_A_SERVICE_ACCOUNT", "hunter2-hunter2"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE((result.out + result.err).find("links.key"), std::string::npos) << result.out << result.err;
  EXPECT_EQ((result.out + result.err).find("hunter2"), std::string::npos);
}

// T29
class AlertsOfForms : public FormsWorld {};

TEST_F(AlertsOfForms, TheCommandsOfStuckFormsAndScansCanBePasted) {
  relay_to("smtp://127.0.0.1:9");  // nobody is there
  setup.more += "alerts: {stuck: 1s}\n";
  ASSERT_EQ(hand_in(submission("stuck here", "one")).status, 201);
  auto unscanned = submission("never scanned", "one");
  unscanned["attachments"] = json::array({attachment("a-1")});
  ASSERT_EQ(hand_in(unscanned).status, 201);
  for (const std::string reference : {"stuck here", "never scanned"}) {
    const auto line = "waybill explain '" + reference + "'";
    ASSERT_TRUE(eventually([&] {
      return sql().number("SELECT count(*) FROM waybill.alerts WHERE kind = 'stuck' AND message LIKE '%" +
                          std::string("waybill explain ''") + reference + "''%'") > 0;
    })) << reference;
    const auto result = run({.arguments = {"/bin/sh", "-c", waybill_program().string() + line.substr(7)},
                             .environment = {{"WAYBILL_CONFIG", installation().config().string()}}});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find(reference), std::string::npos) << result.out;
  }
}

}  // namespace
}  // namespace waybill::testing
