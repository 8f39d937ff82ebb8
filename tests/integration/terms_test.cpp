// When a submission may be sent, over HTTP and through a host: not before its time, and not when it has expired.  Q4
#include <gtest/gtest.h>

#include <chrono>

#include "base/time.h"
#include "support/forms_world.h"
#include "support/pipeline_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

std::string in(std::chrono::seconds ahead) {
  const auto at = std::chrono::system_clock::now() + ahead;
  return format_rfc3339({std::chrono::duration_cast<Micros>(at.time_since_epoch()).count()});
}

class SubmissionTerms : public World {
 protected:
  static json timed(const std::string& id, const std::string& target, const std::string& field, const std::string& at) {
    auto body = sms_intent(id, target);
    body[field] = at;
    return body;
  }
};

// Q4
TEST_F(SubmissionTerms, AnIntentIsSentAtItsTimeAndDeadlinesCountFromThen) {
  const auto then = in(std::chrono::seconds(4));
  const auto answer = post_intent(client(), timed("later", "sms.brief", "notBefore", then));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["notBefore"], then);
  EXPECT_EQ(answer.json()["status"], "pending");
  post_intent(client(), sms_intent("now", "sms.patient"), 30);
  EXPECT_EQ(wait_for_end(client(), "now")["status"], "accepted");
  const auto end = wait_for_end(client(), "later");
  EXPECT_EQ(end["status"], "accepted") << "sms.brief gives up after 2 s, which count from its time: " << end;
  const auto attempts = history_of(client(), "later")["attempts"];
  ASSERT_GE(attempts.size(), 1u);
  EXPECT_GE(attempts[0]["startedAt"].get<std::string>(), then);
  EXPECT_EQ(post_intent(client(), sms_intent("later", "sms.brief")).json()["notBefore"], then) << "a repetition is the first one";
  EXPECT_EQ(client().get("/v1/intents?status=accepted&target=sms.brief").json()["items"][0]["notBefore"], then);
}

// Q4
TEST_F(SubmissionTerms, WhatExpiresIsNotSentAnyMoreAlsoWhereNobodyMayClaimIt) {
  const auto gone = post_intent(client(), timed("gone", "sms.patient", "expiresAt", in(std::chrono::seconds(-1))), 30);
  ASSERT_EQ(gone.status, 200) << gone.body;
  EXPECT_EQ(wait_for_end(client(), "gone")["exhaustedReason"], "expired");
  EXPECT_EQ(gateway.count("gone"), 0u);
  ASSERT_EQ(client().request("POST", "/v1/targets/sms.patient/pause", R"({"reason":"being replaced"})").status, 200);
  post_intent(client(), timed("paused", "sms.patient", "expiresAt", in(std::chrono::seconds(3))));
  EXPECT_EQ(wait_for_end(client(), "paused")["exhaustedReason"], "expired");
  EXPECT_EQ(gateway.count("paused"), 0u);
}

// Q4
TEST_F(SubmissionTerms, ARetryDoesNotComeWhenItHasExpired) {
  gateway.by_default(Reply::http_error(503));
  post_intent(client(), timed("failing", "sms.patient", "expiresAt", in(std::chrono::seconds(3))));
  const auto end = wait_for_end(client(), "failing");
  EXPECT_EQ(end["exhaustedReason"], "expired");
  EXPECT_LT(history_of(client(), "failing")["attempts"].back()["startedAt"].get<std::string>(),
            end["expiresAt"].get<std::string>());
}

using FormTerms = FormsWorld;

// Q4
TEST_F(FormTerms, ActionsWaitForTheirSubmissionsTime) {
  auto form = submission("f-1", "one");
  const auto then = in(std::chrono::seconds(3));
  form["notBefore"] = then;
  form["finalize"] = true;
  ASSERT_EQ(hand_in(form).status, 201);
  EXPECT_EQ(submission_of("f-1")["notBefore"], then);
  const auto done = wait_for_form("f-1");
  EXPECT_EQ(done["status"], "routed");
  EXPECT_GE(done["deliveries"][0]["history"][0]["startedAt"].get<std::string>(), then);
}

using PipelineTerms = PipelineWorld;

// Q4: what it starts at once waits as well
TEST_F(PipelineTerms, ASubmissionAndWhatItStartsWaitForItsTime) {
  setup.pipelines["two.json"] = R"({
    "pipeline": "two", "initial": "RUN",
    "states": {
      "RUN": { "run": [{ "target": "stage.two" }], "start": [{ "pipeline": "after", "payload": "/payload" }] },
      "DONE": { "terminal": true }
    },
    "transitions": [{ "from": "RUN", "to": "DONE", "trigger": "ran", "actor": "worker" }]
  })";
  setup.pipelines["after.json"] = R"({
    "pipeline": "after", "initial": "RUN",
    "states": { "RUN": { "run": [{ "target": "stage.after" }] }, "END": { "terminal": true } },
    "transitions": [{ "from": "RUN", "to": "END", "trigger": "ran", "actor": "worker" }]
  })";
  for (const char* name : {"two", "after"}) targets.push_back(service(std::string("stage.") + name, std::string("/") + name));
  use_targets();
  gateway.by_default(answer({{"ok", true}}));
  const auto then = in(std::chrono::seconds(3));
  const auto made = client().request("POST", "/v1/pipelines/two/submissions",
                                     json{{"submissionId", "p"}, {"payload", {{"a", 1}}}, {"notBefore", then}}.dump());
  ASSERT_EQ(made.status, 201) << made.body;
  wait_for_state("p", "DONE");
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 2; }));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.attempts WHERE started_at < '" + then + "'"), 0);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions WHERE not_before = '" + then + "'"), 2);
}

// Q4 M4
TEST_F(SubmissionTerms, WhatIsNoTimeIsRefusedByName) {
  const auto refused = [&](const std::string& field, const std::string& at) {
    const auto answer = post_intent(client(), timed("bad", "sms.patient", field, at));
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer.json()["error"]["message"].get<std::string>();
  };
  EXPECT_EQ(refused("notBefore", "soon").find("notBefore must be an RFC 3339 time"), 0u);
  EXPECT_EQ(refused("notBefore", in(std::chrono::hours(24 * 367))), "notBefore must not be more than 366 days ahead");
  EXPECT_EQ(refused("expiresAt", in(std::chrono::hours(24 * 367))), "expiresAt must not be more than 366 days ahead");
}

// Q4 M4
TEST_F(FormTerms, WhatCannotBeItsTimeIsRefused) {
  auto form = submission("f-2", "one");
  form["notBefore"] = in(std::chrono::hours(24 * 367));
  EXPECT_EQ(hand_in(form).status, 400);
  form["notBefore"] = in(std::chrono::hours(48));
  form["retentionExpiresAt"] = in(std::chrono::hours(24));
  EXPECT_EQ(hand_in(form).status, 400) << "its contents would be erased before it may be sent";
}

}  // namespace
}  // namespace waybill::testing
