// The check of failures by the real program: on schedule, by hand, over all pages, and with processes that die.  J5
#include <gtest/gtest.h>
#include <signal.h>

#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

constexpr char kYearly[] = "failure_check: { schedule: \"0 9 1 1 *\", time_zone: Europe/London }\n";
constexpr char kFirstPage[] =
    R"({"failures":[{"id":"box-1","key":"p1","reason":"permanent-failure","failed_at":1700000000}],"next":"2"})";
constexpr char kSecondPage[] = R"({"failures":[{"id":"box-2","key":"B-77","reason":"temporary-failure"}]})";

class FailureCheckProgram : public World {
 protected:
  FailureCheckProgram() {
    setup.registry = registry_of({target("to.parcel", "parcel", gateway.url(), "max_attempts", 3, {"refused"}),
                                  target("sms.primary", "sms", gateway.url(), "max_attempts", 3, {"invalid_request"})});
    setup.more = kYearly;
    installation().add_plugin(built_example("parcel"));
    gateway.script("POST /parcels", {{.body = R"({"id":"box-1"})"}});
  }
  CommandResult failures(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "failures");
    return installation().command(std::move(arguments));
  }
  json digests() { return json::parse(failures({"list", "--json"}).out).at("digests"); }
  bool is_planned() { return sql().number("SELECT count(*) FROM waybill.failure_checks WHERE next_at IS NOT NULL") == 1; }
  void make_due() {
    ASSERT_TRUE(eventually([&] { return is_planned(); }));
    sql().execute("UPDATE waybill.failure_checks SET next_at = date_trunc('minute', now())");
  }
  bool wait_for_digest(std::size_t count) {
    return eventually([&] { return sql().number("SELECT count(*) FROM waybill.failure_digests") == static_cast<int>(count); });
  }
  std::size_t lists_asked() {
    const auto all = gateway.received("/parcels");
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& one) { return one.method == "GET"; }));
  }
};

TEST_F(FailureCheckProgram, ADueTickReadsEveryPageStoresTheDigestAndRaisesOneAlert) {
  post_intent(client(), intent("p1", "to.parcel", {{"text", "x"}}), 30);
  ASSERT_EQ(wait_for_end(client(), "p1")["status"], "accepted");
  gateway.script("/parcels", {{.body = kFirstPage}, {.body = kSecondPage}});
  make_due();
  ASSERT_TRUE(wait_for_digest(1)) << host().log();
  EXPECT_EQ(lists_asked(), 2u);
  const auto history = client().get("/v1/intents/p1/history").json();
  ASSERT_EQ(history.value("notDelivered", json::array()).size(), 1u) << "T29: " << history;
  EXPECT_EQ(history["notDelivered"][0]["failedAt"], "2023-11-14T22:13:20.000000Z");
  EXPECT_EQ(history["notDelivered"][0]["status"], "permanent-failure");
  EXPECT_EQ(history["intent"]["status"], "accepted");
  const auto list = digests();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["failures"], 2);
  EXPECT_EQ(list[0]["byStatus"], (json{{"permanent-failure", 1}, {"temporary-failure", 1}}));
  EXPECT_EQ(list[0]["targets"], json{"to.parcel"}) << "sms lists no failures, and that is no problem";
  EXPECT_EQ(list[0]["problems"], json::array());
  EXPECT_EQ(list[0]["byHand"], false);
  const auto found = json::parse(failures({"list", "--digest", list[0]["digest"], "--json"}).out).at("failures");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]["submissionId"], "p1");
  EXPECT_EQ(found[0]["failedAt"], "2023-11-14T22:13:20.000000Z");
  EXPECT_EQ(found[1]["submissionId"], nullptr);
  EXPECT_EQ(found[1]["reference"], "B-77");
  const auto alert = sql().text("SELECT message FROM waybill.alerts WHERE kind = 'failed_messages'");
  for (const auto* words : {"2 messages", "permanent-failure: 1", "temporary-failure: 1", "p1", "B-77"})
    EXPECT_NE(alert.find(words), std::string::npos) << alert;
  EXPECT_TRUE(is_planned());
}

// T11
TEST_F(FailureCheckProgram, TwoHostsWithDifferentSchedulesSaySoAndTheTickRuns) {
  client();
  ASSERT_TRUE(eventually([&] { return is_planned(); }));
  setup.more = "failure_check: { schedule: \"0 9 2 1 *\", time_zone: Europe/London }\n";
  Installation second_place(setup);
  second_place.add_plugin(built_example("parcel"));
  Daemon second(second_place);
  EXPECT_TRUE(host().wait_for_log("failure_check.schedule_differs"));
  const auto checked = installation().command({"check", "--online", "--json"});
  bool is_told = false;
  const auto answer = json::parse(checked.out);
  for (const auto& finding : answer.at("online"))
    is_told |= word(finding, "level") == "warning" && finding.dump().find("0 9 2 1 *") != std::string::npos;
  EXPECT_TRUE(is_told) << checked.out;
  gateway.script("/parcels", {{.body = kSecondPage}});
  make_due();
  EXPECT_TRUE(wait_for_digest(1)) << host().log();
}

// T29: a submission of a pipeline learns of what its provider failed to deliver, and its provider can be asked about it.
TEST_F(FailureCheckProgram, AFailureIsInTheAuditOfItsSubmissionOnce) {
  setup.pipelines["mail.json"] = R"({
    "pipeline": "mail", "initial": "SEND",
    "states": { "SEND": { "run": [{ "target": "to.parcel", "input": "/payload" }] }, "SENT": { "terminal": true } },
    "transitions": [{ "from": "SEND", "to": "SENT", "trigger": "sent", "actor": "worker" }]
  })";
  installation().write_pipeline("mail.json", setup.pipelines["mail.json"]);
  const auto posted = client().request("POST", "/v1/pipelines/mail/submissions",
                                       R"({"submissionId":"m-1","payload":{"text":"x"},"metadata":{"reference":"B-77"}})");
  ASSERT_EQ(posted.status, 201) << posted.body;
  const auto view = [&] { return client().get("/v1/submissions/m-1").json(); };
  ASSERT_TRUE(eventually([&] { return word(view(), "state") == "SENT"; })) << view();
  gateway.script("/parcels", {{.body = kSecondPage}, {.body = kSecondPage}});
  ASSERT_EQ(failures({"check"}).exit_code, 0);
  ASSERT_EQ(failures({"check"}).exit_code, 0);
  std::vector<json> told;
  const auto now = view();
  for (const auto& event : now["audit"])
    if (word(event, "action") == "not_delivered") told.push_back(event);
  ASSERT_EQ(told.size(), 1u) << now["audit"].dump(1);
  EXPECT_EQ(told[0]["metadata"]["status"], "temporary-failure");
  EXPECT_EQ(told[0]["metadata"]["target"], "to.parcel");
  EXPECT_EQ(told[0]["toState"], nullptr);
  EXPECT_EQ(now["state"], "SENT");

  gateway.by_default({.body = R"({"state":"delivered"})"});
  const auto status = installation().command({"provider", "status", "m-1", "--json"});
  EXPECT_EQ(status.exit_code, 0) << status.err;
  EXPECT_EQ(json::parse(status.out)["submissionId"], "m-1");
  EXPECT_EQ(json::parse(status.out)["deliveries"][0]["answer"], "arrived");
  EXPECT_EQ(json::parse(status.out)["deliveries"][0]["target"], "to.parcel");
}

// T29: the runbook's first step works whatever plugin the target has.
TEST_F(FailureCheckProgram, AProbeConnectsWhereThePluginHasNone) {
  const auto probe = [&] { return installation().command({"provider", "probe", "sms.primary", "--json"}); };
  const auto well = probe();
  EXPECT_EQ(well.exit_code, 0) << well.err;
  EXPECT_EQ(json::parse(well.out)["answer"], "connected");
  const FakeGateway closed(FakeGateway::Door::shut);
  installation().write_registry(
      registry_of({target("sms.primary", "sms", closed.url(), "max_attempts", 3, {"invalid_request"})}));
  const auto down = probe();
  EXPECT_EQ(down.exit_code, 1);
  EXPECT_EQ(json::parse(down.out)["answer"], "not reachable");
  EXPECT_NE(down.out.find("no connection"), std::string::npos) << down.out;
}

TEST_F(FailureCheckProgram, WithoutFailuresTheDigestSaysZeroAndNobodyIsAlerted) {
  host();
  gateway.script("/parcels", {{.body = R"({"failures":[]})"}});
  make_due();
  ASSERT_TRUE(wait_for_digest(1)) << host().log();
  EXPECT_EQ(digests()[0]["failures"], 0);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.alerts"), 0);
}

TEST_F(FailureCheckProgram, OneOfTwoHostsRunsATick) {
  host();
  gateway.script("/parcels", {{.body = kSecondPage}});
  Daemon second(installation());
  make_due();
  ASSERT_TRUE(wait_for_digest(1)) << host().log();
  ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.failure_checks WHERE tick IS NULL") == 1; }));
  EXPECT_EQ(lists_asked(), 1u);
}

TEST_F(FailureCheckProgram, ACheckWhoseProcessIsKilledIsGoneOnWith) {
  host();
  gateway.script("/parcels", {{.body = kFirstPage}, Reply::hang(), {.body = kFirstPage}, {.body = kSecondPage}});
  make_due();
  ASSERT_TRUE(eventually([&] { return lists_asked() == 2; })) << host().log();
  const auto holder = sql().text("SELECT host FROM waybill.failure_checks");
  ASSERT_EQ(kill(std::stoi(holder.substr(holder.rfind(':') + 1)), SIGKILL), 0);
  ASSERT_TRUE(host().wait_for_log("failure_check.died"));
  sql().execute("UPDATE waybill.failure_checks SET lease_until = now()");
  ASSERT_TRUE(wait_for_digest(1)) << host().log();
  EXPECT_EQ(digests()[0]["failures"], 2) << "the first page, which was read twice, counts once";
  EXPECT_EQ(sql().number("SELECT count FROM waybill.alerts WHERE kind = 'failed_messages'"), 1);
}

TEST_F(FailureCheckProgram, AProviderThatDoesNotAnswerIsAskedAgainAndThenReported) {
  host();
  gateway.script("/parcels",
                 {{.body = kFirstPage}, Reply::http_error(503), {.body = R"({"failures":[]})"}, Reply::http_error(503)});
  make_due();
  ASSERT_TRUE(host().wait_for_log("failure_check.put_off"));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.failure_digests"), 0);
  sql().execute("UPDATE waybill.failure_checks SET lease_until = now()");
  ASSERT_TRUE(wait_for_digest(1)) << host().log();
  EXPECT_EQ(digests()[0]["failures"], 1) << "what was read before it broke off is kept";
  ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.failure_checks WHERE tick IS NULL") == 1; }));
  sql().execute("UPDATE waybill.failure_checks SET next_at = date_trunc('second', now())");
  ASSERT_TRUE(eventually(
      [&] { return sql().number("SELECT count(*) FROM waybill.failure_checks WHERE tick IS NOT NULL AND token IS NULL") == 1; }));
  sql().execute("UPDATE waybill.failure_checks SET lease_until = now(), begun_at = now() - interval '2 hours'");
  ASSERT_TRUE(wait_for_digest(2)) << host().log();
  EXPECT_NE(digests()[0]["problems"].dump().find("to.parcel: its list is not complete"), std::string::npos) << digests();
  const auto told = sql().text("SELECT string_agg(message, '') FROM waybill.alerts WHERE kind = 'failed_messages'");
  EXPECT_NE(told.find("not checked: to.parcel"), std::string::npos) << told;
  ASSERT_NE(told.find("\nwaybill failures check to.parcel"), std::string::npos) << told;
  gateway.script("/parcels", {{.body = kSecondPage}});
  const auto pasted = failures({"check", "to.parcel"});
  EXPECT_EQ(pasted.exit_code, 0) << "T29: " << pasted.err;
}

TEST_F(FailureCheckProgram, ByHandNoHostIsNeeded) {
  gateway.script("/parcels", {{.body = kSecondPage}});
  const auto checked = failures({"check", "--json"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_EQ(json::parse(checked.out)["organisations"][0]["byStatus"], (json{{"temporary-failure", 1}}));
  EXPECT_EQ(digests()[0]["byHand"], true);
  const auto again = failures({"check"});
  EXPECT_NE(again.out.find("0 new failure(s) in the lists of 1 target(s)"), std::string::npos) << again.out << again.err;
  const auto asked = gateway.received("/parcels");
  const auto since = [](const Received& one) { return std::stoll(one.path.substr(one.path.find("since=") + 6)); };
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_GT(since(asked[1]), since(asked[0])) << "the second asks since the first, with a day's overlap";
  const auto unknown = failures({"check", "to.nobody"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_NE(unknown.err.find("to.nobody: the registry has no such target"), std::string::npos) << unknown.err;
  const auto mute = failures({"check", "sms.primary"});
  EXPECT_NE(mute.err.find("does not offer"), std::string::npos) << mute.err;
}

}  // namespace
}  // namespace waybill::testing
