// waybill restore-fence as an operator uses it after a restore, and what a pipeline does of which a later action may have been
// sent.  O7
#include "docs/source_tree.h"
#include "support/pipeline_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

// First an action that may be sent again, then one that may not, then that again in a pipeline which the last state begins.
constexpr const char* kCharge = R"({
  "pipeline": "charge", "submit": "ordered", "initial": "CHECK",
  "states": {
    "CHECK": { "run": [{ "target": "shop.check", "input": "/payload", "retry": { "attempts": 5, "delay": "10ms" } }] },
    "CHARGE": { "run": [{ "target": "shop.charge", "input": "/payload" }] },
    "DONE": { "terminal": true, "start": [{ "pipeline": "thank", "payload": "/payload" }] }
  },
  "transitions": [
    { "from": "CHECK", "to": "CHARGE", "trigger": "checked", "actor": "worker" },
    { "from": "CHARGE", "to": "DONE", "trigger": "charged", "actor": "worker" }
  ]
})";
constexpr const char* kThank = R"({
  "pipeline": "thank", "initial": "THANK",
  "states": { "THANK": { "run": [{ "target": "shop.thank", "input": "/payload" }] }, "THANKED": { "terminal": true } },
  "transitions": [{ "from": "THANK", "to": "THANKED", "trigger": "thanked", "actor": "worker" }]
})";

class AfterRestore : public PipelineWorld {
 protected:
  AfterRestore() {
    setup.pipelines = {{"charge.json", kCharge}, {"thank.json", kThank}};
    targets = standard_targets(gateway.url());
    targets.push_back(service("shop.check", "/check"));
    for (const char* once : {"charge", "thank"}) {
      auto made = target(std::string("shop.") + once, "webhook", gateway.url() + "/" + once, "one_shot", 0, {"gone"});
      made["destination"] = {{"answer", "json"}};
      targets.push_back(made);
    }
    use_targets();
    gateway.script("POST /check", {Reply::hang(), answer({{"ok", true}})});
    for (const char* once : {"charge", "thank"}) gateway.script(std::string("POST /") + once, {answer({{"ok", true}})});
  }
  json fenced(const std::string& moment, std::vector<std::string> more = {}, int exit_code = 0) {
    std::vector<std::string> words{"restore-fence", "--since", moment, "--actor", "ada", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto done = installation().command(words);
    EXPECT_EQ(done.exit_code, exit_code) << done.out << done.err;
    return json::parse(done.out, nullptr, false);
  }
  // The database's time, as an operator would give it. What is restored is simply there: nothing of what came later is.
  std::string moment() {
    return sql().text("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')");
  }
};

// O7 M17
TEST_F(AfterRestore, WhatMayHaveBeenSentEndsAndAnOperatorSendsItAfterLooking) {
  host();
  EXPECT_EQ(installation().command({"target", "pause", "sms.once", "--reason", "so that it is open at the moment"}).exit_code, 0);
  ASSERT_EQ(post_intent(client(), sms_intent("once", "sms.once")).status, 200);
  EXPECT_EQ(fenced(moment(), {}, 1)["error"]["message"].get<std::string>().find("hosts are running"), 0u);
  give_up_host();
  const auto restored = moment();
  EXPECT_EQ(fenced(restored, {"--dry-run"})["ended"], 1);
  const auto done = fenced(restored);
  EXPECT_EQ(done["ended"], 1);
  EXPECT_EQ(done["targets"], json::parse(R"([{"organisation":"default","target":"sms.once","ended":1}])"));
  EXPECT_EQ(installation().command({"target", "resume", "sms.once"}).exit_code, 0);
  const auto ended = get_intent(client(), "once");
  EXPECT_EQ(ended["status"], "exhausted");
  EXPECT_EQ(ended["exhaustedReason"], "restored");
  EXPECT_EQ(attempt_words(client(), "once"), std::vector<std::string>{"unknown"});
  EXPECT_EQ(installation().command({"failed", "resend", "--reason", "restored"}).exit_code, 1) << "it may have been sent";
  EXPECT_EQ(gateway.count("once"), 0u);
  EXPECT_EQ(installation().command({"failed", "resend", "--reason", "restored", "--include-maybe-sent"}).exit_code, 0);
  ASSERT_TRUE(eventually([&] { return get_intent(client(), "once")["status"] == "accepted"; }));
  EXPECT_EQ(gateway.count("once"), 1u) << "under its own key";
}

// O7 P5: at the moment none of these is in the queue
TEST_F(AfterRestore, LaterOneShotsOfAPipelineAreNotSentAgainEither) {
  ASSERT_EQ(hand_in("charge", "order-1", {{"price", 7}}).status, 201);
  ASSERT_TRUE(gateway.wait_for([&] { return calls("/check") == 1; }));
  give_up_host();
  const auto done = fenced(moment());
  EXPECT_EQ(done["ended"], 0) << "what is open may be sent again";
  const auto blocked = [&] { return view_of("order-1")["blockedAt"].is_string(); };
  ASSERT_TRUE(eventually(blocked));
  EXPECT_EQ(state_of("order-1"), "CHARGE");
  EXPECT_EQ(calls("/check"), 2u);
  EXPECT_EQ(calls("/charge"), 0u);
  const auto failed = installation().command({"failed", "list", "--reason", "restored", "--json"});
  ASSERT_EQ(json::parse(failed.out)["items"].size(), 1u) << failed.out;
  EXPECT_EQ(json::parse(failed.out)["items"][0]["target"], "shop.charge");
  EXPECT_EQ(installation().command({"failed", "resend", "--reason", "restored"}).exit_code, 1) << "it may have been sent";
  const auto skipped = installation().command({"pipeline", "skip", "order-1"});
  EXPECT_EQ(skipped.exit_code, 0) << skipped.out << skipped.err;
  wait_for_state("order-1", "DONE");
  ASSERT_TRUE(eventually([&] { return view_of("order-1~thank~3")["blockedAt"].is_string(); }))
      << "what it begins is in doubt as well";
  EXPECT_EQ(calls("/thank"), 0u);
  EXPECT_EQ(installation().command({"pipeline", "rerun", "order-1~thank~3"}).exit_code, 0);
  wait_for_state("order-1~thank~3", "THANKED");
  EXPECT_EQ(calls("/thank"), 1u) << "whoever runs it again has looked";
  ASSERT_EQ(hand_in("charge", "order-2", {{"price", 8}}).status, 201);
  wait_for_state("order-2", "DONE");
  wait_for_state("order-2~thank~3", "THANKED");
  EXPECT_EQ(calls("/charge"), 1u) << "what was handed in since is not in doubt";
}

// O7 F15: each line of Waybill's on the page, in its order, but for the one that needs a server's roles
TEST_F(AfterRestore, TheCommandsOfThePageRunAsTheyStand) {
  targets.push_back(target("sms.otp", "sms", gateway.url(), "one_shot", 0, {"invalid_request"}));
  use_targets();
  std::vector<std::string> ran;
  for (const auto& line : lines_of(source_folder() / "docs/operations/disaster-recovery.md")) {
    const auto begin = line.find_first_not_of(' ');
    if (begin == std::string::npos || line.compare(begin, 8, "waybill ") != 0 || line.substr(begin) == "waybill roles") continue;
    auto words = line.substr(begin + 8);
    const std::string moment_of_page = "2026-11-23T09:30:00Z";
    if (const auto at = words.find(moment_of_page); at != std::string::npos) words.replace(at, moment_of_page.size(), moment());
    ran.push_back(words);
    const auto done = run({.arguments = {"/bin/sh", "-c", waybill_program().string() + " " + words},
                           .environment = {{"WAYBILL_CONFIG", installation().config().string()}},
                           .folder = "/"});
    EXPECT_EQ(done.exit_code, 0) << line << "\n" << done.out << done.err;
    if (words.starts_with("target pause")) {
      ASSERT_EQ(post_intent(client(), sms_intent("held", "sms.otp")).status, 200);
      const auto why = installation().command({"explain", "held"}).out;
      EXPECT_NE(why.find("target sms.otp was paused at "), std::string::npos) << why;
      EXPECT_NE(why.find("held after the restore"), std::string::npos) << why;
    }
  }
  EXPECT_GE(ran.size(), 8u);
  EXPECT_EQ(wait_for_end(client(), "held")["status"], "accepted") << "since its target was resumed";
}

// O7
TEST_F(AfterRestore, ATimeThatIsNoneIsRefused) {
  EXPECT_EQ(installation().command({"migrate"}).exit_code, 0);
  EXPECT_NE(fenced("yesterday", {}, 1)["error"]["message"].get<std::string>().find("--since: \"yesterday\""), std::string::npos);
}

}  // namespace
}  // namespace waybill::testing
