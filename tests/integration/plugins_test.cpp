// Plugins that cannot be used are refused by name, and plugins that misbehave cost one attempt each; the good ones go on.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>

#include "support/bad_plugins.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class Plugins : public World {
 protected:
  json listed() {
    const auto result = installation().command({"plugin", "list", "--json"});
    return json::parse(result.out);
  }

  // What the list says about a refused file; null if it is not refused.
  static json refusal_of(const json& list, const std::string& file) {
    for (const auto& one : list.at("refused"))
      if (one.at("file") == file) return one;
    return nullptr;
  }

  void expect_sms_to_work(const std::string& id) {
    post_intent(client(), sms_intent(id, "sms.deadline"), 30);
    EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted");
  }
};

// H2
TEST_F(Plugins, DroppingAFileInAndNamingItInTheRegistryIsAllItTakes) {
  auto targets = standard_targets(gateway.url());
  targets.push_back(target("mine", "good", gateway.url() + "/anywhere", "one_shot", 0, {"invalid_request"}));
  setup.registry = registry_of(targets);
  installation().add_plugin(bad_plugin("good"));
  EXPECT_EQ(post_intent(client(), intent("a", "mine", {{"n", 1}}), 30).json()["status"], "accepted");
  ASSERT_EQ(gateway.count(), 1u);
  EXPECT_EQ(gateway.received()[0].path, "/anywhere");
  EXPECT_EQ(header_value(gateway.received()[0].head, "X-Key"), "a");
}

// H1, H2
TEST_F(Plugins, EachThatCannotBeUsedIsRefusedByNameWithReasonAndRemedyAndTheOthersGoOn) {
  for (const auto* name : {"good", "no_symbol", "wrong_major", "newer_minor", "null_create", "throws_in_entry", "second_good"})
    installation().add_plugin(bad_plugin(name));
  const auto folder = installation().plugin_folder();
  write_file(folder / "text.so", "I am no library\n");
  write_file(folder / "empty.so", "");
  std::filesystem::copy_file(built_plugin("sms"), folder / "writable.so");
  ::chmod((folder / "writable.so").c_str(), 0777);
  std::filesystem::create_symlink(built_plugin("sms"), folder / "linked.so");
  std::filesystem::create_directory(folder / "folder.so");
  write_file(folder / "README", "not a plugin, and none of its business\n");

  const auto list = listed();
  for (const auto* name : {"no_symbol", "wrong_major", "newer_minor", "null_create", "throws_in_entry", "second_good", "text",
                           "empty", "writable", "linked"}) {
    const auto refusal = refusal_of(list, std::string(name) + ".so");
    ASSERT_FALSE(refusal.is_null()) << name << " is not refused: " << list;
    EXPECT_FALSE(refusal["reason"].get<std::string>().empty()) << name;
    EXPECT_FALSE(refusal["remedy"].get<std::string>().empty()) << name;
  }
  EXPECT_NE(refusal_of(list, "wrong_major.so")["reason"].dump().find("2"), std::string::npos) << list;  // names the major it has
  EXPECT_NE(refusal_of(list, "writable.so")["reason"].dump().find("write"), std::string::npos) << list;
  for (const auto* name : {"sms.so", "push.so", "webhook.so", "good.so"}) EXPECT_TRUE(refusal_of(list, name).is_null()) << name;
  EXPECT_TRUE(refusal_of(list, "README").is_null());

  expect_sms_to_work("still");
  for (const auto* name : {"no_symbol.so", "wrong_major.so", "newer_minor.so", "throws_in_entry.so", "text.so", "writable.so"})
    EXPECT_NE(host().log().find(name), std::string::npos) << name;
  EXPECT_EQ(host().terminate(), 0);
}

// D7
TEST_F(Plugins, WritingOverAPluginInPlaceHarmsNoRunningHost) {
  expect_sms_to_work("before");
  const auto file = installation().plugin_folder() / "sms.so";
  const auto write_over = [&](const std::string& bytes) { std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes; };
  write_over(std::string(1 << 20, 'x'));
  expect_sms_to_work("garbage");
  write_over(read_file(bad_plugin("good")));
  expect_sms_to_work("another");
  write_over("");
  expect_sms_to_work("nothing");
  EXPECT_TRUE(host().running());
  EXPECT_EQ(host().terminate(), 0);
}

// D7
TEST_F(Plugins, ThoseThatHarmTheProcessAsTheyAreLoadedAreNamedAndTheOthersGoOn) {
  for (const auto* name : {"exits_at_load", "crashes_at_load"}) installation().add_plugin(bad_plugin(name));
  const auto checked = installation().command({"check"});
  EXPECT_EQ(checked.exit_code, 1);
  for (const auto* words : {"exits_at_load.so: refused", "exit(0)", "crashes_at_load.so: refused", "SIGABRT", "no licence"})
    EXPECT_NE(checked.err.find(words), std::string::npos) << words << " in " << checked.err;
  expect_sms_to_work("still");
  for (const auto* name : {"exits_at_load.so", "crashes_at_load.so"})
    EXPECT_NE(host().log().find(name), std::string::npos) << name;
  EXPECT_EQ(host().terminate(), 0);
}

// D7
TEST_F(Plugins, OneThatEndsTheProcessWhileItChecksATargetIsHeard) {
  installation().add_plugin(bad_plugin("exits_in_check"));
  for (const auto* word : {"exit", "leave"}) {
    auto targets = standard_targets(gateway.url());
    targets.push_back(target("mine", "exits_in_check", gateway.url() + "/" + word, "one_shot", 0, {"invalid_request"}));
    installation().write_registry(registry_of(targets));
    for (const auto* command : {"check", "serve"}) {
      const auto ended = installation().command({command});
      EXPECT_EQ(ended.exit_code, 1) << command << " " << word;
      EXPECT_NE(ended.err.find("harms the process while it checks a target: ended the process with exit(0)"), std::string::npos)
          << ended.err;
    }
  }
}

// D9
TEST_F(Plugins, AnIntentThatThePluginCanOnlyRejectIsRefusedWithItsField) {
  const auto refused = post_intent(client(), intent("bad", "sms.deadline", {{"to", "+4915112345678"}, {"message", 7}}));
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("payload.message: "), std::string::npos) << refused.body;
  EXPECT_EQ(client().request("GET", "/v1/intents/bad").status, 404);
  EXPECT_EQ(post_intent(client(), intent("none", "push.attempts", json::object())).status, 400);
  expect_sms_to_work("good");
  EXPECT_EQ(gateway.count(), 1u);
}

// D9
TEST_F(Plugins, AMetricTellsTargetReasonAndVersion) {
  expect_sms_to_work("counted");
  const auto shows = [&](const std::string& name) { return metric(client(), name, 0) == 1; };
  EXPECT_TRUE(eventually(
      [&] { return shows(R"(submission_target_attempts_total{outcome="accepted",reason="",target="sms.deadline"})"); }));
  EXPECT_TRUE(shows(R"(submission_plugin_info{action_type="sms",plugin="waybill.sms",version="1.1.0"})"));
}

// D9
TEST_F(Plugins, TheNewerOfTwoVersionsIsUsedUnlessOneIsPinned) {
  for (const auto* name : {"good", "newer_good"}) installation().add_plugin(bad_plugin(name));
  const auto newest = listed();
  ASSERT_EQ(newest.at("superseded").size(), 1u) << newest;
  EXPECT_EQ(newest.at("superseded")[0].at("file"), "good.so");
  EXPECT_EQ(newest.at("superseded")[0].at("byVersion"), "1.10");
  const auto checked = installation().command({"check"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_NE(checked.err.find("newer_good.so has version 1.10"), std::string::npos) << checked.err;
  const auto pinned = installation().command({"check"}, {{"WAYBILL_SENDERS_GOOD", R"({"plugin_version":"1"})"}});
  EXPECT_EQ(pinned.exit_code, 0) << pinned.err;
  EXPECT_NE(pinned.err.find("senders.good.plugin_version is 1"), std::string::npos) << pinned.err;
}

// D9
TEST_F(Plugins, AReloadSaysThatANewPluginNeedsARestart) {
  expect_sms_to_work("before");
  installation().add_plugin(bad_plugin("good"));
  auto targets = standard_targets(gateway.url());
  targets.push_back(target("mine", "good", gateway.url() + "/new", "one_shot", 0, {"invalid_request"}));
  installation().write_registry(registry_of(targets));
  const auto told = installation().command({"reload"});
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_NE(told.out.find("good.so: is new since this host started"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("restart it to load it"), std::string::npos) << told.out;
  EXPECT_EQ(told.out.find("sms.so"), std::string::npos) << told.out;
  EXPECT_TRUE(host().wait_for_log("plugin.not_loaded"));
  EXPECT_TRUE(host().wait_for_log("plugin.missing")) << "its intents wait for the restart";
}

// H2
TEST_F(Plugins, AFolderThatOthersMayWriteToIsNotUsed) {
  ::chmod(installation().plugin_folder().c_str(), 0777);
  const auto result = installation().command({"plugin", "list"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE((result.out + result.err).find("write"), std::string::npos) << result.out << result.err;
}

// H2, M12
TEST_F(Plugins, AMissingOneHoldsUpOnlyItsOwnIntentsAndTheyWaitForIt) {
  setup.plugins = {"push"};
  EXPECT_EQ(post_intent(client(), sms_intent("waits", "sms.patient")).status, 200);
  post_intent(client(), push_intent("goes", "push.attempts"), 30);
  EXPECT_EQ(wait_for_end(client(), "goes")["status"], "accepted");
  EXPECT_NE(host().log().find("plugin.missing"), std::string::npos);
  EXPECT_EQ(get_intent(client(), "waits")["status"], "pending");
  EXPECT_EQ(host().terminate(), 0);
  for (const auto* name : {"sms", "webhook"}) installation().add_plugin(built_plugin(name));
  restart_host();
  EXPECT_EQ(wait_for_end(client(), "waits")["status"], "accepted");
  EXPECT_EQ(gateway.count("waits"), 1u);
}

// H2, M7
TEST_F(Plugins, ADeadlineThatPassesWithoutThePluginEndsTheIntent) {
  setup.plugins = {"push"};
  post_intent(client(), sms_intent("late", "sms.brief"));
  EXPECT_EQ(wait_for_end(client(), "late")["exhaustedReason"], "deadline_exceeded");
  EXPECT_TRUE(attempt_words(client(), "late").empty());
}

// H4, H5
TEST_F(Plugins, AMisbehavingOneCostsAtMostOneAttemptEach) {
  struct Case {
    std::string behaviour;
    std::string status;   // "" when any end will do
    std::string outcome;  // of the one attempt
  };
  const std::vector<Case> cases{{"good", "accepted", "accepted"},
                                {"throw_std", "exhausted", "error"},
                                {"throw_int", "exhausted", "error"},
                                {"complete_then_throw", "accepted", "accepted"},
                                {"twice", "accepted", "accepted"},
                                {"invented_call", "accepted", "accepted"},
                                {"never", "", ""},
                                {"other_thread", "accepted", "accepted"},
                                {"null_outcome", "exhausted", "error"},
                                {"short_outcome", "exhausted", "error"},
                                {"garbage_enums", "exhausted", "error"},
                                {"undeclared_reason", "exhausted", ""},
                                {"non_utf8", "exhausted", "error"},
                                {"huge_reason", "exhausted", "error"},
                                {"null_pointers", "", ""},
                                {"fetch_garbage", "exhausted", "error"},
                                {"fetch_null", "", ""},
                                {"fetch_after_end", "accepted", "accepted"},
                                {"fetch_left_open", "accepted", "accepted"},
                                {"fetch_off_strand", "accepted", "accepted"},
                                {"timer_after_end", "accepted", "accepted"},
                                {"timer_left_open", "accepted", "accepted"},
                                {"timer_throws", "exhausted", "error"},
                                {"log_garbage", "accepted", "accepted"}};
  auto targets = standard_targets(gateway.url());
  for (const auto& c : cases)
    targets.push_back(target(c.behaviour, "naughty", gateway.url(), "max_attempts", 1, {"invalid_request"}));
  targets.push_back(target("never_deaf", "naughty_deaf", gateway.url(), "max_attempts", 1, {"invalid_request"}));
  setup.registry = registry_of(targets);
  setup.more = "timeouts: {attempt: 1s, attempt_grace: 500ms}\n";
  installation().add_plugin(bad_plugin("naughty"));
  for (const auto& c : cases)
    EXPECT_EQ(post_intent(client(), intent(c.behaviour, c.behaviour, json::object())).status, 200) << c.behaviour;
  expect_sms_to_work("meanwhile");
  for (const auto& c : cases) {
    const auto end = wait_for_end(client(), c.behaviour);
    const auto words = attempt_words(client(), c.behaviour);
    ASSERT_EQ(words.size(), 1u) << c.behaviour;
    if (!c.status.empty()) {
      EXPECT_EQ(word(end, "status"), c.status) << c.behaviour;
    }
    if (!c.outcome.empty()) {
      EXPECT_EQ(words[0], c.outcome) << c.behaviour;
    }
  }
  EXPECT_TRUE(host().running());
  EXPECT_NE(host().log().find("naughty"), std::string::npos);
  EXPECT_NE(client().get("/metrics").body.find("submission_plugin_misbehaviour_total{action_type=\"naughty\""),
            std::string::npos);
  expect_sms_to_work("after");
  EXPECT_EQ(host().terminate(), 0);
}

// H5
TEST_F(Plugins, OneThatStaysSilentIsDecidedByTheHost) {
  setup.registry = registry_of({target("never", "naughty_deaf", gateway.url(), "max_attempts", 2, {"invalid_request"})});
  setup.more = "timeouts: {attempt: 300ms, attempt_grace: 200ms}\n";
  installation().add_plugin(bad_plugin("naughty"));
  post_intent(client(), intent("silent", "never", json::object()));
  const auto end = wait_for_end(client(), "silent");
  EXPECT_EQ(word(end, "exhaustedReason"), "max_attempts");
  EXPECT_EQ(attempt_words(client(), "silent"), (Words{"error", "error"}));
  EXPECT_NE(host().log().find("naughty_deaf"), std::string::npos);
}

// H5
TEST_F(Plugins, OneThatNeverComesBackHoldsUpNobodyElseAndNotTheEnd) {
  auto targets = standard_targets(gateway.url());
  targets.push_back(target("stuck", "hangs", gateway.url(), "one_shot", 0, {"invalid_request"}));
  targets.push_back(target("good", "hangs", gateway.url(), "max_attempts", 3, {"invalid_request"}));
  targets.push_back(target("stuck.blocking", "hangs_blocking", gateway.url(), "one_shot", 0, {"invalid_request"}));
  setup.registry = registry_of(targets);
  setup.more = "timeouts: {attempt: 500ms, attempt_grace: 200ms, drain: 1s}\n";
  installation().add_plugin(bad_plugin("hangs"));
  post_intent(client(), intent("hanging", "stuck", json::object()));
  post_intent(client(), intent("blocking", "stuck.blocking", json::object()));
  expect_sms_to_work("beside");
  for (const auto* id : {"hanging", "blocking"}) {
    EXPECT_EQ(wait_for_end(client(), id)["exhaustedReason"], "one_shot") << id;
    EXPECT_EQ(attempt_words(client(), id), Words{"error"}) << id;
  }
  post_intent(client(), intent("next", "good", json::object()));  // a new sender takes the place of the one given up
  EXPECT_EQ(wait_for_end(client(), "next")["status"], "accepted");
  EXPECT_NE(host().log().find("hangs"), std::string::npos);
  EXPECT_EQ(host().terminate(), 0);
}

// H5
TEST_F(Plugins, OneThatCannotMakeASenderIsNamedAndHoldsUpOnlyItsOwnWork) {
  auto targets = standard_targets(gateway.url());
  targets.push_back(target("a", "create_throws", gateway.url(), "one_shot", 0, {"invalid_request"}));
  targets.push_back(target("b", "create_refuses", gateway.url(), "one_shot", 0, {"invalid_request"}));
  targets.push_back(target("c", "create_no_table", gateway.url(), "one_shot", 0, {"invalid_request"}));
  setup.registry = registry_of(targets);
  installation().add_plugin(bad_plugin("bad_create"));
  for (const auto* id : {"a", "b", "c"}) post_intent(client(), intent(id, id, json::object()));
  expect_sms_to_work("beside");
  for (const auto* type : {"create_throws", "create_refuses", "create_no_table"}) EXPECT_TRUE(host().wait_for_log(type)) << type;
  for (const auto* id : {"a", "b", "c"}) EXPECT_EQ(get_intent(client(), id)["status"], "pending");  // kept for a plugin that can
  EXPECT_EQ(host().terminate(), 0);
}

}  // namespace
}  // namespace waybill::testing
