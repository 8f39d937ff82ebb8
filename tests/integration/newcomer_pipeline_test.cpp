// The example of docs/pipelines.md, taken from the page as a reader would paste it, with services that a test scripts.
#include "docs/snippets.h"
#include "support/pipeline_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

// The page's block of JSON with this mark.
std::string example(const std::string& mark) {
  for (const auto& snippet : snippets_of(source_folder() / "docs/pipelines.md"))
    if (snippet.language == "json" && snippet.mark == mark) return snippet.text;
  ADD_FAILURE() << "docs/pipelines.md has no example " << mark;
  return "null";
}

class NewcomerPipeline : public PipelineWorld {
 protected:
  NewcomerPipeline() {
    for (auto& target : json::parse(example("targets"))) {
      const auto url = word(target, "gatewayUrl");
      target["gatewayUrl"] = gateway.url() + url.substr(url.rfind('/'));
      targets.push_back(target);
    }
    use_targets();
    setup.pipelines.clear();
    auto text = example("pipeline");
    const std::string delay = "\"delay\": \"30s\"";
    text.replace(text.find(delay), delay.size(), "\"delay\": \"10ms\"");
    setup.pipelines["expense.json"] = text;
    gateway.script("POST /check", {result_of_the_page()});
    gateway.script("POST /notify", {answer({{"id", "m-1"}})});
  }

  static Reply result_of_the_page() { return answer(json::parse(example("result"))); }
  HttpResponse hand_in_the_page() { return client().request("POST", "/v1/pipelines/expense/submissions", example("submission")); }
  HttpResponse decide(const std::string& body) { return client().request("POST", "/v1/submissions/e-1/transitions", body); }
  json sent_to(const std::string& path) {
    for (const auto& one : gateway.received())
      if (one.path == path) return json::parse(one.body);
    return nullptr;
  }
  static std::vector<std::string> way_of(const json& view) {
    std::vector<std::string> way;
    for (const auto& event : view["audit"]) way.push_back(word(event, "toState"));
    return way;
  }
};

using Way = std::vector<std::string>;

// P1
TEST_F(NewcomerPipeline, IsApprovedAndAnnounced) {
  const auto posted = hand_in_the_page();
  ASSERT_EQ(posted.status, 201) << posted.body;
  EXPECT_EQ(hand_in_the_page().status, 200);
  const auto waiting = wait_for_state("e-1", "WAITING");
  EXPECT_EQ(sent_to("/check"), json::parse(example("sent")));
  EXPECT_EQ(waiting["results"]["CHECKING"], json::parse(example("result")));
  EXPECT_EQ(waiting["decisions"], json::parse(R"([{"to":"APPROVED","trigger":"approve","role":"member"},
                            {"to":"REJECTED","trigger":"reject","role":"member"}])"));
  const auto decided = decide(example("decision"));
  ASSERT_EQ(decided.status, 200) << decided.body;
  const auto view = wait_for_state("e-1", "DONE");
  EXPECT_EQ(way_of(view), (Way{"CHECKING", "WAITING", "APPROVED", "DONE"}));
  EXPECT_EQ(sent_to("/notify")["state"], "APPROVED");
  EXPECT_EQ(sent_to("/notify")["results"]["CHECKING"], json::parse(example("result")));
  EXPECT_EQ(view["audit"][0]["trigger"], "handed-in");
  EXPECT_EQ(view["audit"][2]["metadata"]["comment"], json::parse(example("decision"))["comment"]);
  EXPECT_EQ(view["audit"][3]["metadata"], (json{{"message", "m-1"}}));
  EXPECT_FALSE(view["endedAt"].is_null());
  EXPECT_EQ(client().get("/v1/submissions?reference=B-6FYZIU1M").json()["items"][0]["submissionId"], "e-1");
}

// P1 P4
TEST_F(NewcomerPipeline, IsRejectedOnceAndAnnounced) {
  ASSERT_EQ(hand_in_the_page().status, 201);
  wait_for_state("e-1", "WAITING");
  ASSERT_EQ(decide(R"({"from":"WAITING","to":"REJECTED","trigger":"reject"})").status, 200);
  const auto late = decide(example("decision"));
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(late.json()["error"]["code"], "conflict");
  EXPECT_EQ(way_of(wait_for_state("e-1", "DONE")), (Way{"CHECKING", "WAITING", "REJECTED", "DONE"}));
  EXPECT_EQ(calls("/notify"), 1u);
  const auto illegal = decide(R"({"to":"APPROVED","trigger":"approve"})");
  EXPECT_EQ(illegal.status, 409);
  EXPECT_EQ(illegal.json()["error"]["code"], "illegal_transition");
}

// P2: the guard sends it to rejection without a person.
TEST_F(NewcomerPipeline, IsRejectedByTheServicesResult) {
  gateway.script("POST /check", {answer({{"missing", 2}})});
  ASSERT_EQ(hand_in_the_page().status, 201);
  const auto view = wait_for_state("e-1", "DONE");
  EXPECT_EQ(way_of(view), (Way{"CHECKING", "REJECTED", "DONE"}));
  EXPECT_EQ(view["audit"][1]["metadata"], (json{{"missing", 2}}));
}

// P5: what the page says of retries, of blocking and of going on.
TEST_F(NewcomerPipeline, IsBlockedByAServiceThatFailsAndGoesOnAfterAReplay) {
  gateway.script("POST /check", {answer({{"error", "unreadable"}}, 422)});
  ASSERT_EQ(hand_in_the_page().status, 201);
  ASSERT_TRUE(eventually([&] { return !view_of("e-1")["blockedAt"].is_null(); }));
  EXPECT_EQ(calls("/check"), 2u);
  gateway.script("POST /check", {answer({{"missing", "none"}}), result_of_the_page()});  // the first is no result
  const auto letters = client().get("/v1/dead?reference=e-1").json()["deadLetters"];
  ASSERT_EQ(letters.size(), 1u);
  EXPECT_EQ(client().request("POST", "/v1/dead/" + word(letters[0], "id") + "/replay").status, 200);
  const auto view = wait_for_state("e-1", "WAITING");
  EXPECT_TRUE(view["blockedAt"].is_null());
  EXPECT_EQ(calls("/check"), 4u);
  EXPECT_EQ(word(view["deliveries"][1]["failures"][0], "error"), "invalid_result: the result has no number at /missing");
}

}  // namespace
}  // namespace waybill::testing
