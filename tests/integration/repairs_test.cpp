// Ways out for submissions of pipelines that are blocked.  T9
#include <filesystem>
#include <sstream>

#include "support/pipeline_world.h"
#include "support/temp_folder.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

// COMPOSE makes a mail, SEND sends it, CHECK runs two actions side by side.
constexpr const char* kMail = R"({
  "pipeline": "mail", "initial": "COMPOSE",
  "states": {
    "COMPOSE": { "run": [{ "target": "mail.compose" }] },
    "SEND": { "run": [{ "target": "mail.send", "input": "/results/COMPOSE" }] },
    "CHECK": { "order": "parallel", "run": [{ "name": "a", "target": "mail.a" }, { "name": "b", "target": "mail.b" }] },
    "LOST": { "terminal": true },
    "DONE": { "terminal": true }
  },
  "transitions": [
    { "from": "COMPOSE", "to": "SEND", "trigger": "composed", "actor": "worker" },
    { "from": "SEND", "to": "CHECK", "trigger": "sent", "actor": "worker", "when": { "at": "/result/n", "atMost": 5 } },
    { "from": "SEND", "to": "DONE", "trigger": "unchecked", "actor": "worker", "when": { "at": "/result/n", "moreThan": 5 } },
    { "from": "SEND", "to": "LOST", "trigger": "gone", "actor": "worker", "on": "failure",
      "when": { "at": "/stage/error", "equals": "mailbox_gone" } },
    { "from": "CHECK", "to": "DONE", "trigger": "checked", "actor": "worker" }
  ]
})";

class Repairs : public PipelineWorld {
 protected:
  Repairs() {
    for (const char* name : {"compose", "send", "a", "b"}) {
      auto target = service(std::string("mail.") + name, std::string("/") + name);
      target["policy"] = "max_attempts";
      target["maxAttempts"] = 1;
      target["destination"]["errorAt"] = "/error";
      targets.push_back(target);
    }
    use_targets();
    setup.pipelines.clear();
    setup.pipelines["mail.json"] = kMail;
    gateway.script("POST /compose", {answer({{"to", "wrong"}})});
    gateway.script("POST /send", {answer({{"error", "no_such_mailbox"}}, 422)});
    gateway.script("POST /a", {answer({{"fine", true}})});
    gateway.script("POST /b", {answer({{"fine", true}})});
  }

  json blocked(const std::string& id) {
    EXPECT_TRUE(eventually([&] { return !view_of(id)["blockedAt"].is_null(); })) << view_of(id).dump(1);
    return view_of(id);
  }
  void begin_blocked(const std::string& id) {
    ASSERT_EQ(hand_in("mail", id, {{"n", id}}).status, 201);
    ASSERT_EQ(word(blocked(id), "state"), "SEND");
  }
  HttpResponse repair(const std::string& id, const json& order) {
    const auto ask = [&] { return client().request("POST", "/v1/submissions/" + id + "/repair", order.dump()); };
    auto answer = ask();  // a sweep may look at it at this moment
    EXPECT_TRUE(eventually([&] { return answer.body.find("at this moment") == std::string::npos || ((answer = ask()), false); }));
    return answer;
  }
  std::vector<json> sent_to(const std::string& path) {
    std::vector<json> bodies;
    for (const auto& one : gateway.received())
      if (one.path == path) bodies.push_back(json::parse(one.body));
    return bodies;
  }
  std::vector<std::string> keys_of(const std::string& path) {
    std::vector<std::string> keys;
    for (const auto& one : gateway.received())
      if (one.path == path) keys.push_back(one.reference);
    return keys;
  }
  json event(const std::string& id, const std::string& trigger) {
    const auto view = view_of(id);
    for (const auto& one : view["audit"])
      if (word(one, "trigger") == trigger) return one;
    return nullptr;
  }
  std::size_t letters() { return client().get("/v1/dead").json()["deadLetters"].size(); }
};

// T9
TEST_F(Repairs, RunsFromAnEarlierStageAgainAndMakesAllAnew) {
  begin_blocked("m");
  EXPECT_EQ(letters(), 1u);
  gateway.script("POST /compose", {answer({{"to", "right"}})});
  gateway.script("POST /send", {answer({{"n", 1}})});
  const auto dry = repair("m", {{"do", "rerun"}, {"state", "COMPOSE"}, {"dryRun", true}});
  ASSERT_EQ(dry.status, 200) << dry.body;
  EXPECT_EQ(dry.json()["items"][0]["state"], "COMPOSE");
  EXPECT_EQ(state_of("m"), "SEND");
  EXPECT_EQ(calls("/compose"), 1u);
  const auto done = repair("m", {{"do", "rerun"}, {"from", "SEND"}, {"state", "COMPOSE"}, {"comment", "a typo"}});
  ASSERT_EQ(done.status, 200) << done.body;
  const auto view = wait_for_state("m", "DONE");
  EXPECT_EQ(sent_to("/send").back(), (json{{"to", "right"}}));
  EXPECT_TRUE(view["blockedAt"].is_null());
  EXPECT_EQ(event("m", "rerun")["fromState"], "SEND");
  EXPECT_EQ(event("m", "rerun")["toState"], "COMPOSE");
  EXPECT_EQ(event("m", "rerun")["actorType"], "admin");
  EXPECT_EQ(event("m", "rerun")["metadata"]["comment"], "a typo");
  EXPECT_EQ(letters(), 0u) << "the rerun stands in for its replay";
  const auto keys = keys_of("/send");
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_NE(keys[0], keys[1]);
  EXPECT_EQ(repair("m", {{"do", "rerun"}}).status, 409) << "it is not blocked any more";
}

// T9
TEST_F(Repairs, SendsAnotherInput) {
  begin_blocked("m");
  gateway.script("POST /send", {answer({{"n", 1}})});
  ASSERT_EQ(repair("m", {{"do", "rerun"}, {"input", {{"to", "by hand"}}}}).status, 200);
  wait_for_state("m", "DONE");
  EXPECT_EQ(sent_to("/send").back(), (json{{"to", "by hand"}}));
  EXPECT_EQ(calls("/compose"), 1u);
  EXPECT_EQ(event("m", "rerun")["metadata"]["inputGiven"], true);
}

// T9
TEST_F(Repairs, SkipsAStageWithAResultThatTheGuardsSee) {
  begin_blocked("m");
  const auto closed = repair("m", {{"do", "skip"}, {"result", {{"id", "x"}}}});
  EXPECT_EQ(closed.status, 409);
  EXPECT_NE(closed.body.find("no transition"), std::string::npos) << closed.body;
  EXPECT_FALSE(view_of("m")["blockedAt"].is_null());
  ASSERT_EQ(repair("m", {{"do", "skip"}, {"result", {{"n", 2}}}}).status, 200);
  const auto view = wait_for_state("m", "DONE");
  EXPECT_EQ(view["results"]["SEND"], (json{{"n", 2}}));
  EXPECT_EQ(calls("/send"), 1u);
  EXPECT_FALSE(event("m", "skip").is_null());
}

// T9
TEST_F(Repairs, EndsByHandWithoutSendingAnything) {
  begin_blocked("m");
  EXPECT_EQ(repair("m", {{"do", "end"}}).status, 409) << "there are two terminal states";
  EXPECT_EQ(repair("m", {{"do", "end"}, {"state", "CHECK"}}).status, 409);
  EXPECT_EQ(repair("m", {{"do", "end"}, {"from", "CHECK"}, {"state", "LOST"}}).status, 409);
  ASSERT_EQ(repair("m", {{"do", "end"}, {"state", "LOST"}}).status, 200);
  const auto view = view_of("m");
  EXPECT_EQ(view["state"], "LOST");
  EXPECT_FALSE(view["endedAt"].is_null());
  EXPECT_TRUE(view["blockedAt"].is_null());
  EXPECT_EQ(letters(), 0u);
  EXPECT_EQ(repair("nobody", {{"do", "end"}}).status, 404);
  EXPECT_EQ(repair("m", {{"do", "mend"}}).status, 400);
}

// T9: what was accepted beside what failed keeps its result and does not run again.
TEST_F(Repairs, RunsOnlyWhatFailedOfAStateWithSeveralActions) {
  gateway.script("POST /send", {answer({{"n", 1}})});
  gateway.script("POST /b", {answer({{"error", "busy"}}, 422)});
  ASSERT_EQ(hand_in("mail", "m", {{"n", 1}}).status, 201);
  ASSERT_EQ(word(blocked("m"), "state"), "CHECK");
  gateway.script("POST /b", {answer({{"fine", "now"}})});
  ASSERT_EQ(repair("m", {{"do", "rerun"}, {"action", "b"}, {"input", 7}}).status, 200);
  const auto view = wait_for_state("m", "DONE");
  EXPECT_EQ(calls("/a"), 1u);
  EXPECT_EQ(calls("/b"), 2u);
  EXPECT_EQ(sent_to("/b").back(), json(7));
  EXPECT_EQ(view["results"]["CHECK"], json::parse(R"({"a":{"fine":true},"b":{"fine":"now"}})"));
}

// T9: by a filter, and by command.
TEST_F(Repairs, RepairsManyAtOnce) {
  for (const char* id : {"m1", "m2", "m3"}) begin_blocked(id);
  const auto many = [&](json order) { return client().request("POST", "/v1/pipelines/mail/repair", order.dump()); };
  EXPECT_EQ(many({{"do", "end"}, {"state", "LOST"}}).status, 400) << "no filter";
  EXPECT_EQ(client().request("POST", "/v1/pipelines/male/repair", R"({"do":"end","all":true})").status, 404);
  const json of_all{{"do", "end"}, {"state", "LOST"}, {"reason", "max_attempts"}, {"dryRun", true}};
  auto dry = many(of_all);  // a sweep may look at one of them at this moment
  EXPECT_TRUE(eventually([&] { return (dry.status == 200 && dry.json()["count"] == 3) || ((dry = many(of_all)), false); }))
      << dry.body;
  EXPECT_EQ(many({{"do", "end"}, {"state", "LOST"}, {"from", "CHECK"}}).json()["count"], 0);
  const auto one = installation().command({"pipeline", "end", "m1", "--state", "LOST", "--comment", "not wanted", "--json"});
  ASSERT_EQ(one.exit_code, 0) << one.out << one.err;
  EXPECT_EQ(json::parse(one.out)["items"][0]["state"], "LOST");
  EXPECT_EQ(state_of("m1"), "LOST");
  EXPECT_EQ(event("m1", "end")["metadata"]["comment"], "not wanted");
  int ended = 0;  // one that a host looks at in this moment is refused
  EXPECT_TRUE(eventually([&] {
    ended += many({{"do", "end"}, {"state", "LOST"}, {"all", true}}).json()["count"].get<int>();
    return ended == 2;
  })) << ended;
  EXPECT_NE(installation().command({"pipeline", "end", "m1"}).exit_code, 0) << "it is not blocked any more";
}

// T9: a failure that a transition handles, by the service's own word, needs nobody.
TEST_F(Repairs, AHandledFailureIsNoDeadLetter) {
  gateway.script("POST /send", {answer({{"error", "mailbox_gone"}}, 422)});
  ASSERT_EQ(hand_in("mail", "m", {{"n", 1}}).status, 201);
  wait_for_state("m", "LOST");
  EXPECT_EQ(letters(), 0u);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.alerts"), 0);
}

// T9: by a filter.
TEST_F(Repairs, RerunsAndSkipsManyAtOnce) {
  for (const char* id : {"m1", "m2", "m3", "m4"}) begin_blocked(id);
  gateway.script("POST /send", {answer({{"n", 1}})});
  int done = 0;  // one that a host looks at in this moment is refused
  const auto many = [&](const json& order, int expected) {
    done = 0;
    return eventually([&] {
      const auto answer = client().request("POST", "/v1/pipelines/mail/repair", order.dump());
      EXPECT_EQ(answer.status, 200) << answer.body;
      done += answer.json()["count"].get<int>();
      return done >= expected;
    });
  };
  EXPECT_TRUE(many({{"do", "rerun"}, {"from", "SEND"}, {"reason", "max_attempts"}, {"input", {{"to", "all"}}}}, 4)) << done;
  for (const char* id : {"m1", "m2", "m3", "m4"}) wait_for_state(id, "DONE");
  EXPECT_EQ(done, 4);
  EXPECT_EQ(sent_to("/send").back(), (json{{"to", "all"}}));
  gateway.script("POST /send", {answer({{"error", "no_such_mailbox"}}, 422)});
  for (const char* id : {"s1", "s2"}) begin_blocked(id);
  EXPECT_TRUE(many({{"do", "skip"}, {"from", "SEND"}, {"result", {{"n", 9}}}}, 2)) << done;
  for (const char* id : {"s1", "s2"}) EXPECT_EQ(wait_for_state(id, "DONE")["results"]["SEND"], (json{{"n", 9}}));
}

// T9: as docs/pipelines.md has them.
TEST_F(Repairs, TheCommandsOfThePageRun) {
  const auto page = read_file(std::filesystem::path(WAYBILL_SOURCE_FOLDER) / "docs/pipelines.md");
  const auto begin = page.find("\n### Ways out\n");
  ASSERT_NE(begin, std::string::npos);
  const auto section = page.substr(begin, page.find("\n## ", begin) - begin);
  auto pipeline = std::string(kMail);
  const auto replace = [](std::string& text, const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  replace(pipeline, "LOST", "FAILED");
  setup.pipelines["mail.json"] = pipeline;
  for (auto& target : targets) target["terminalOutcomes"] = json::array({"client_error"});
  use_targets();
  const TempFolder folder;
  write_file(folder.path() / "result.json", R"({"n": 9})");
  gateway.script("POST /send", {answer({{"what", "ever"}}, 422)});
  int number = 0, by_filter = 0;
  for (auto at = section.find("`waybill pipeline "); at != std::string::npos; at = section.find("`waybill pipeline ", at + 1)) {
    auto command = section.substr(at + 9, section.find('`', at + 1) - at - 9);
    SCOPED_TRACE(command);
    const auto id = "page-" + std::to_string(++number);
    begin_blocked(id);
    by_filter += command.find("--pipeline NAME") != std::string::npos;
    replace(command, " ID", " " + id);
    replace(command, "FILE", (folder.path() / "result.json").string());
    replace(command, "NAME", "mail");
    std::vector<std::string> words;
    std::istringstream in(command);
    for (std::string one; in >> one;) words.push_back(one);
    CommandResult done;
    EXPECT_TRUE(eventually([&] {  // a sweep may look at it at this moment
      done = installation().command(words);
      return done.err.find("at this moment") == std::string::npos;
    }));
    EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
    EXPECT_TRUE(eventually([&] { return !event(id, words.at(1)).is_null(); })) << view_of(id).dump(1);
  }
  EXPECT_GE(number, 5);
  EXPECT_EQ(by_filter, 1);
}

// T20
TEST_F(Repairs, AServicesTextsAreNoLabels) {
  for (const auto* text : {"no_such_mailbox", "a text, as long as you like", "x\"} 1"}) {
    gateway.script("POST /send", {answer({{"error", text}}, 422)});
    begin_blocked("r-" + std::to_string(gateway.count()));
  }
  const auto counted = [&](const char* reason) {
    return metric(
        client(),
        "submission_target_attempts_total{outcome=\"error\",reason=\"" + std::string(reason) + "\",target=\"mail.send\"}", 0);
  };
  EXPECT_EQ(counted("no_such_mailbox"), 1);
  EXPECT_EQ(counted("other"), 2);
}

}  // namespace
}  // namespace waybill::testing
