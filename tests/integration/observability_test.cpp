// What operators look at: health, readiness, metrics, and the history page.
#include <gtest/gtest.h>

#include <sstream>

#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Observability : public World {
 protected:
  HttpResponse history_page(const std::string& id_encoded) {
    return client().request("POST", "/ui/history", "intentId=" + id_encoded,
                            {{"Content-Type", "application/x-www-form-urlencoded"}});
  }
  bool becomes(const std::string& name, double least) {
    return eventually([&] { return metric(client(), name) >= least; });
  }
};

// M14
TEST_F(Observability, HealthAndReadinessAnswer200) {
  EXPECT_EQ(client().get("/healthz").status, 200);
  EXPECT_EQ(client().get("/readyz").status, 200);
}

// M14, M12
TEST_F(Observability, WithoutTheDatabaseTheHostIsHealthyButNotReadyAndComesBackByItself) {
  post_intent(client(), sms_intent("before", "sms.deadline"), 30);
  cluster().stop(PostgresCluster::Stop::immediate);
  EXPECT_TRUE(eventually([&] { return client().get("/readyz").status == 503; }));
  EXPECT_EQ(client().get("/healthz").status, 200);
  const auto refused = post_intent(client(), sms_intent("during", "sms.deadline"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.error_code(), "unavailable");
  EXPECT_EQ(client().get("/v1/intents/before").status, 503);
  EXPECT_EQ(metric(client(), "submission_database_up"), 0);
  cluster().start();
  EXPECT_TRUE(eventually([&] { return client().get("/readyz").status == 200; }));
  EXPECT_EQ(get_intent(client(), "before")["status"], "accepted");
  EXPECT_EQ(post_intent(client(), sms_intent("during", "sms.deadline")).status, 200);
  EXPECT_EQ(wait_for_end(client(), "during")["status"], "accepted");
  EXPECT_TRUE(becomes("submission_database_up", 1));
  EXPECT_TRUE(host().running());
}

// T15
TEST_F(Observability, WhereNothingCanBeStoredTheHostIsNotReadyUntilItCanBe) {
  setup.more = "timeouts: {answer: 1s}\n";
  ASSERT_EQ(post_intent(client(), sms_intent("before", "sms.deadline")).status, 200);
  SqlClient somebody(setup.database_url);
  somebody.execute("BEGIN; LOCK TABLE waybill.submissions IN SHARE MODE");  // as if the disk were full: all else goes on
  EXPECT_EQ(client().get("/readyz").status, 200) << "nobody has tried";
  ASSERT_TRUE(eventually([&] {
    EXPECT_EQ(post_intent(client(), sms_intent("during", "sms.deadline")).status, 503);
    return client().get("/readyz").status == 503;
  }));
  EXPECT_NE(client().get("/readyz").body.find("intents cannot be stored"), std::string::npos);
  somebody.execute("ROLLBACK");
  EXPECT_TRUE(eventually([&] { return client().get("/readyz").status == 200; })) << "by itself";
  EXPECT_EQ(post_intent(client(), sms_intent("during", "sms.deadline")).status, 200);
}

// T15: whoever takes a host that is not ready out of service sends it nothing to find out by
TEST_F(Observability, AHostWithAFullDiskFindsOutByItselfWhenItCanStoreAgain) {
  setup.more = "timeouts: {answer: 1s}\n";
  ASSERT_EQ(post_intent(client(), sms_intent("before", "sms.deadline")).status, 200);
  sql().execute(
      "CREATE FUNCTION waybill.disk_is_full() RETURNS trigger LANGUAGE plpgsql AS "
      "$$BEGIN RAISE 'No space left on device' USING ERRCODE = '53100'; END$$");
  sql().execute(
      "CREATE TRIGGER disk_is_full BEFORE INSERT ON waybill.submissions FOR EACH ROW EXECUTE FUNCTION waybill.disk_is_full()");
  EXPECT_EQ(post_intent(client(), sms_intent("during", "sms.deadline")).status, 503);
  const auto tries = [&] {
    int count = 0;
    const auto log = host().log();
    for (auto at = log.find("store_probe"); at != std::string::npos; at = log.find("store_probe", at + 1)) ++count;
    return count;
  };
  ASSERT_TRUE(eventually([&] {
    EXPECT_EQ(client().get("/readyz").status, 503);
    return tries() >= 7;
  })) << "the host tries every two seconds";
  EXPECT_NE(host().log().find("53100"), std::string::npos);
  sql().execute("DROP TRIGGER disk_is_full ON waybill.submissions");
  EXPECT_TRUE(eventually([&] { return client().get("/readyz").status == 200; })) << "by itself";
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), 1) << "its tries leave nothing";
}

// T15: forms' steps and events are stored as well, and each of these tables may be the locked one
TEST_F(Observability, WhatElseCannotBeStoredIsToldToo) {
  setup.more = "timeouts: {answer: 1s}\n";
  ASSERT_EQ(client().get("/readyz").status, 200);
  const auto rule = client().request("POST", "/orgs/default/alert-rules", R"({"name":"r"})").json().at("id").get<std::string>();
  const std::pair<std::string, std::function<int()>> calls[] = {
      {"alert_events",
       [&] {
         return client()
             .request("POST", "/orgs/default/alert-rules/" + rule + "/events", R"({"eventId":"e","snapshot":{}})")
             .status;
       }},
      {"attachments",
       [&] { return client().request("POST", "/v1/attachments/a/scan-result", R"({"clamavStatus":"clean"})").status; }}};
  for (const auto& [table, call] : calls) {
    SqlClient somebody(setup.database_url);
    somebody.execute("BEGIN; LOCK TABLE waybill." + table + " IN ACCESS EXCLUSIVE MODE");
    ASSERT_EQ(call(), 503) << table;
    EXPECT_TRUE(eventually([&] { return client().get("/readyz").status == 503; })) << table;
    somebody.execute("ROLLBACK");
    EXPECT_TRUE(eventually([&] { return client().get("/readyz").status == 200; })) << table;
  }
}

// M14
TEST_F(Observability, MetricsArePrometheusTextAndAllAreOurs) {
  const auto response = client().get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.header("Content-Type").value_or("").substr(0, 10), "text/plain");
  std::istringstream lines(response.body);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto whose = line.substr(0, line.find('_'));
    EXPECT_TRUE(whose == "submission" || whose == "submissions" || whose == "waybill" || whose == "process") << line;
    EXPECT_NE(line.find(' '), std::string::npos) << line;
  }
  for (const auto* name : {"submission_intents_total{status=\"pending\"} 0", "submission_queue_depth{status=\"due\"}",
                           "submission_oldest_due_age_seconds", "submission_claims_lost_total", "submission_acceptance_seconds",
                           "submission_in_flight", "submission_database_up 1"})
    EXPECT_NE(response.body.find(name), std::string::npos) << name;
}

// M14
TEST_F(Observability, MetricsMoveWithTheWork) {
  gateway.script("accepted", {Reply::http_error(500), Reply::accept()});
  gateway.script("rejected", {Reply::reject("invalid_recipient")});
  gateway.script("exhausted", {Reply::not_json()});
  for (const auto* id : {"accepted", "rejected"}) post_intent(client(), sms_intent(id, "sms.attempts"));
  post_intent(client(), sms_intent("exhausted", "sms.once"));
  for (const auto* id : {"accepted", "rejected", "exhausted"}) wait_for_end(client(), id);
  EXPECT_TRUE(becomes("submission_intents_total{status=\"pending\"}", 3));
  for (const auto* status : {"accepted", "rejected", "exhausted"})
    EXPECT_TRUE(becomes("submission_intents_total{status=\"" + std::string(status) + "\"}", 1)) << status;
  EXPECT_TRUE(becomes("submission_attempts_total{action_type=\"sms\",outcome=\"error\"}", 2));
  EXPECT_TRUE(becomes("submission_attempts_total{action_type=\"sms\",outcome=\"accepted\"}", 1));
  EXPECT_TRUE(becomes("submission_attempts_total{action_type=\"sms\",outcome=\"rejected\"}", 1));
  EXPECT_TRUE(becomes("submission_attempt_seconds_count{action_type=\"sms\"}", 4));
  EXPECT_TRUE(becomes("submission_acceptance_seconds_count", 3));
  EXPECT_TRUE(becomes("submission_end_to_end_seconds_count{action_type=\"sms\"}", 3));
  EXPECT_EQ(metric(client(), "submission_intents_total{status=\"pending\"}"), 3);
}

// M14
TEST_F(Observability, MetricsShowTheQueue) {
  gateway.by_default(Reply::accept_when_released());
  post_intent(client(), sms_intent("held", "sms.patient"));
  EXPECT_TRUE(becomes("submission_in_flight", 1));
  EXPECT_TRUE(becomes("submission_queue_depth{status=\"claimed\"}", 1));
  gateway.release();
  EXPECT_TRUE(eventually([&] { return metric(client(), "submission_queue_depth{status=\"claimed\"}") == 0; }));
}

// M15
TEST_F(Observability, TheHistoryPageShowsSummaryAndAttempts) {
  gateway.script("page", {Reply::reject("provider_failure"), Reply::accept()});
  post_intent(client(), sms_intent("page", "sms.attempts"));
  wait_for_end(client(), "page");
  const auto page = history_page("page");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.header("Content-Type").value_or("").substr(0, 9), "text/html");
  for (const auto* text : {"page", "sms.attempts", "accepted", "provider_failure", "<table", "rejected"})
    EXPECT_NE(page.body.find(text), std::string::npos) << text << " in " << page.body;
  EXPECT_EQ(page.body.find("<html"), std::string::npos);  // a fragment
}

// M15
TEST_F(Observability, TheHistoryPageEscapesWhatClientsWrote) {
  const std::string id = "<script>alert(1)</script>&\"'";
  post_intent(client(), sms_intent(id, "sms.deadline"), 30);
  const auto page = history_page("%3Cscript%3Ealert%281%29%3C%2Fscript%3E%26%22%27");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body.find("<script"), std::string::npos) << page.body;
  EXPECT_NE(page.body.find("&lt;script&gt;"), std::string::npos) << page.body;
  const auto unknown = history_page("%3Cb%3Enobody%3C%2Fb%3E+there");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.body.find("<b>"), std::string::npos) << unknown.body;
}

// M15: from the database, so another host's work shows as well
TEST_F(Observability, TheHistoryPageIsReadFromTheDatabase) {
  post_intent(client(), sms_intent("kept", "sms.deadline"), 30);
  wait_for_end(client(), "kept");
  host().kill_hard();
  restart_host();
  EXPECT_NE(history_page("kept").body.find("accepted"), std::string::npos);
}

// J7, P6
TEST_F(Observability, TheStateOfTheQueueIsToldByActionType) {
  setup.more = "monitor: { interval: 50ms }\n";
  gateway.script("bad", {Reply::reject("invalid_request")});
  post_intent(client(), sms_intent("bad", "sms.patient"), 30);
  ASSERT_EQ(wait_for_end(client(), "bad")["status"], "rejected");
  EXPECT_TRUE(eventually([&] { return metric(client(), "job_failure_rate{type=\"sms\"}", 0) == 1; }));
  gateway.by_default(Reply::accept_when_released());
  post_intent(client(), sms_intent("held", "sms.patient"));
  ASSERT_TRUE(gateway.wait_for_count("held", 1));
  EXPECT_TRUE(eventually([&] { return metric(client(), "queue_depth{type=\"sms\"}", 0) == 1; }));
  EXPECT_TRUE(host().wait_for_log("queue.state"));
  gateway.release();
  EXPECT_EQ(wait_for_end(client(), "held")["status"], "accepted");
  EXPECT_TRUE(eventually([&] { return metric(client(), "queue_depth{type=\"sms\"}") == 0; }));
  EXPECT_TRUE(eventually([&] { return metric(client(), "job_failure_rate{type=\"sms\"}") == 0.5; }));
}

}  // namespace
}  // namespace waybill::testing
