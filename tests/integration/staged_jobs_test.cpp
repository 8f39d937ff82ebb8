// The shipped staged jobs over HTTP: composed by one service, sent by another, followed by what was asked for.
#include <algorithm>
#include <thread>

#include "support/pipeline_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using namespace std::string_literals;

class StagedJobs : public PipelineWorld {
 protected:
  StagedJobs() {
    for (const char* name : {"notify", "ses", "notify_send", "ses_send"})
      setup.pipelines[std::string(name) + ".json"] = shipped(name);
    for (const char* target : {"notify.compose", "notify.send", "ses.compose", "ses.send"})
      targets.push_back(service(target, std::string("/") + target));
    use_targets();
    gateway.script("POST /notify.compose", {answer(notify_email())});
    gateway.script("POST /ses.compose", {answer(ses_email())});
    gateway.script("POST /notify.send", {answer({{"id", "n-1"}})});
    gateway.script("POST /ses.send", {answer({{"MessageId", "m-1"}})});
  }
  static json notify_email() {
    return {{"options", {{"reference", "PF3N8EGP9L"}, {"template", "ABC-DEF"}, {"emailAddress", "pye@example.org"}}}};
  }
  static json ses_email() {
    return {{"subject", "cni application"},
            {"body", "<p>Dear British Embassy Rome</p>"},
            {"onComplete",
             {{"job", {{"queue", "NOTIFY_SEND"}, {"options", {{"template", "AFTER"}, {"emailAddress", "a@example.org"}}}}}}}};
  }
  static json form() {
    return {{"submissionId", "f-1"},
            {"answers", {{"firstName", "test"}, {"middleName", nullptr}}},
            {"metadata", {{"type", "affirmation"}, {"reference", "B-6FYZIU1M"}}}};
  }
  HttpResponse post(const json& body) { return client().request("POST", "/forms", body.dump()); }
  json body_of(const std::string& path, std::size_t number = 0) {
    std::vector<json> bodies;
    for (const auto& one : gateway.received())
      if (one.path == path) bodies.push_back(json::parse(one.body));
    return bodies.at(number);
  }
  json by_reference(const std::string& reference) {
    return client().get("/v1/submissions?reference=" + reference).json()["items"];
  }
};

// J1, J2, J4, J6: one post, two submissions, four stages and what follows.
TEST_F(StagedJobs, APostBecomesTwoEmailsAndWhatFollowsThem) {
  const auto posted = post(form());
  ASSERT_EQ(posted.status, 201) << posted.body;
  EXPECT_EQ(posted.json()["submissions"].size(), 2u);
  EXPECT_EQ(post(form()).status, 200);
  auto other = form();
  other["answers"]["firstName"] = "another";
  EXPECT_EQ(post(other).status, 409);
  wait_for_state("f-1-notify", "SENT");
  const auto ses = wait_for_state("f-1-ses", "SENT");
  const auto follow = wait_for_state("f-1-ses~notify_send~3", "SENT");
  EXPECT_EQ(body_of("/notify.compose"), (json{{"answers", form()["answers"]}, {"metadata", form()["metadata"]}}));
  EXPECT_EQ(body_of("/notify.compose"), body_of("/ses.compose"));
  EXPECT_EQ(body_of("/ses.send"), ses_email());
  EXPECT_EQ(calls("/notify.send"), 2u);
  EXPECT_EQ(follow["payload"], ses_email()["onComplete"]["job"]);
  EXPECT_EQ(follow["metadata"], form()["metadata"]);
  EXPECT_EQ(ses["results"]["PROCESS"], ses_email());
  EXPECT_EQ(by_reference("B-6FYZIU1M").size(), 3u);
}

// J1: a send that fails composes nothing again; what came back is kept with the job (J6).
TEST_F(StagedJobs, ASendThatFailsComposesNothingAgain) {
  gateway.script("POST /notify.send", {Reply::http_error(500), Reply::http_error(500), answer({{"id", "n-1"}})});
  ASSERT_EQ(hand_in("notify", "n", {{"answers", json::object()}}).status, 201);
  const auto view = wait_for_state("n", "SENT");
  EXPECT_EQ(calls("/notify.compose"), 1u);
  EXPECT_EQ(calls("/notify.send"), 3u);
  ASSERT_EQ(view["deliveries"][1]["failures"].size(), 2u);
  EXPECT_EQ(view["deliveries"][1]["failures"][0]["code"], 500);
}

// A provider that is away for long uses up nothing: the job goes on when it is back.
TEST_F(StagedJobs, AStageWaitsOutAnOutage) {                 // T10
  setup.more = "timeouts: { cooldown: 0ms, poll: 20ms }\n";  // an outage of up to a day
  gateway.script("POST /notify.send", {Reply::http_error(503)});
  ASSERT_EQ(hand_in("notify", "n", {{"answers", json::object()}}).status, 201);
  ASSERT_TRUE(eventually([&] { return calls("/notify.send") > 4; })) << "more often than its pipeline allows";
  EXPECT_TRUE(view_of("n")["blockedAt"].is_null());
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.attempts WHERE counts AND outcome <> 'accepted'"), 0);
  gateway.script("POST /notify.send", {answer({{"id", "n-1"}})});
  wait_for_state("n", "SENT");
}

// T8: as the workers of notarial-api write it; the queue stands beside the job.
TEST_F(StagedJobs, AFollowUpAsTheRealWorkersWriteItIsBegun) {
  const json job{{"template", "AFTER"},
                 {"emailAddress", "a@example.org"},
                 {"options", {{"personalisation", {{"post", "Rome"}}}, {"reference", "B-1"}}}};
  const json mail{{"subject", "cni"},
                  {"body", "<p>x</p>"},
                  {"reference", "B-1"},
                  {"attachments", json::array()},
                  {"onComplete", {{"queue", "NOTIFY_SEND"}, {"job", job}}}};
  ASSERT_EQ(hand_in("ses_send", "s-1", mail).status, 201);
  wait_for_state("s-1", "SENT");
  EXPECT_EQ(body_of("/ses.send"), mail);
  wait_for_state("s-1~notify_send~2", "SENT");
  EXPECT_EQ(body_of("/notify.send"), job);
  gateway.script("POST /ses.compose", {answer(mail)});
  ASSERT_EQ(post(form()).status, 201);
  wait_for_state("f-1-ses", "SENT");
  wait_for_state("f-1-ses~notify_send~3", "SENT");
}

// J1: a compose service that is never well blocks the job; its replay goes on from there.
TEST_F(StagedJobs, AStageThatFailedIsReplayedByItself) {
  gateway.script("POST /ses.compose", {answer({{"error", "no template"}}, 400)});
  ASSERT_EQ(hand_in("ses", "s", {{"answers", json::object()}}).status, 201);
  ASSERT_TRUE(eventually([&] { return !view_of("s")["blockedAt"].is_null(); }));
  const auto letters = client().get("/v1/dead?reference=s").json()["deadLetters"];
  ASSERT_EQ(letters.size(), 1u);
  gateway.script("POST /ses.compose", {answer(ses_email())});
  EXPECT_EQ(client().request("POST", "/v1/dead/" + word(letters[0], "id") + "/replay").status, 200);
  wait_for_state("s", "SENT");
  wait_for_state("s~notify_send~3", "SENT");
  EXPECT_EQ(client().request("POST", "/v1/dead/" + word(letters[0], "id") + "/replay").status, 409);
}

// J4: without an onComplete nothing follows.
TEST_F(StagedJobs, NothingFollowsWithoutOnComplete) {
  auto plain = ses_email();
  plain.erase("onComplete");
  gateway.script("POST /ses.compose", {answer(plain)});
  ASSERT_EQ(hand_in("ses", "s", {{"answers", json::object()}}).status, 201);
  wait_for_state("s", "SENT");
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions WHERE kind = 'pipeline'"), 1);
}

// J6 P3: a NUL character, which the database keeps in no text, goes to the receiver and hinders nothing here.
TEST_F(StagedJobs, CarryNulCharactersThrough) {
  setup.pipelines["pick.json"] =
      R"({"pipeline":"pick","initial":"A","states":{"A":{},"B":{"terminal":true,"run":[{"target":"ses.send","input":"/payload"}]}},
          "transitions":[{"from":"A","to":"B","trigger":"go","actor":"system","metadata":{"name":"/payload/name"}}]})";
  const json name("a\0\\u0000"s), payload{{"name", name}};
  ASSERT_EQ(hand_in("pick", "x", payload, {{"reference", "r\0s"s}}).status, 201);
  ASSERT_TRUE(gateway.wait_for([&] { return calls("/ses.send") == 1; }));
  EXPECT_EQ(body_of("/ses.send"), payload);
  EXPECT_EQ(view_of("x")["audit"][1]["metadata"]["name"], "a\ufffd\\u0000");
  EXPECT_EQ(by_reference("r").size(), 0u);
}

// J2: what is refused leaves nothing behind.
TEST_F(StagedJobs, RefusesWhatIsNoForm) {
  for (const char* body : {"", "[]", "{}", R"({"answers":{},"metadata":[]})", R"({"answers":{},"more":1})", R"({"answers":)"})
    EXPECT_EQ(client().request("POST", "/forms", body).status, 400) << body;
  ASSERT_EQ(hand_in("ses", "f-1-ses", {{"answers", "others"}}).status, 201);
  EXPECT_EQ(post(form()).status, 409);
  EXPECT_EQ(client().get("/v1/submissions/f-1-notify").status, 404);
  EXPECT_EQ(metric(client(), "submissions_received_total{pipeline=\"notify\"}", 0), 0) << "it was taken back";
}

}  // namespace
}  // namespace waybill::testing
