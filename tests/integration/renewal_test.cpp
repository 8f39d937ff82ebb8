// New versions of plugins in processes, and new settings of their senders, taken up by a running host. I3
#include <gtest/gtest.h>

#include <algorithm>

#include "support/bad_plugins.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Renewal : public World {
 protected:
  Renewal() {
    auto targets = standard_targets(gateway.url());
    targets.push_back(target("mine", "good", gateway.url() + "/mine", "one_shot", 0, {"invalid_request"}));
    setup.registry = registry_of(targets);
    setup.more = "senders: { good: { isolation: process } }\n";
    installation().add_plugin(bad_plugin("good"));
  }
  void configure(const std::string& senders) {
    auto text = read_file(installation().config());
    const auto at = text.find("senders: ");
    text.replace(at, text.find('\n', at) - at, senders);
    write_file(installation().config(), text);
  }
  void post(const std::string& id) { post_intent(client(), intent(id, "mine", {{"to", "somebody"}})); }
  CommandResult reload() { return installation().command({"reload"}); }
  std::string in_use() {
    const auto list = json::parse(installation().command({"plugin", "list", "--json"}).out);
    for (const auto& one : list.at("hosts"))
      if (one.at("actionType") == "good") return one.at("plugin").get<std::string>() + one.at("draining").dump();
    return "";
  }
  void expect_accepted_once(const std::string& id) {
    EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted") << history_of(client(), id);
    const auto received = gateway.received();
    EXPECT_EQ(std::count_if(received.begin(), received.end(),
                            [&](const auto& request) {
                              return header_value(request.head, "X-Key") == id ||
                                     header_value(request.head, "Idempotency-Key") == id;
                            }),
              1)
        << id;
  }
};

TEST_F(Renewal, ANewVersionTakesNewWorkWhileTheOldOneFinishesWhatItHas) {
  constexpr std::size_t kInTheAir = 20;
  gateway.by_default(Reply::accept_when_released());
  const auto pid = (client(), host().pid());
  for (std::size_t i = 0; i < kInTheAir; ++i) post("old-" + std::to_string(i));
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() >= kInTheAir; }));
  installation().add_plugin(bad_plugin("newer_good"));
  const auto told = reload();
  EXPECT_EQ(told.exit_code, 0) << told.out << told.err;
  EXPECT_NE(told.out.find("good: test.good 1.10 takes new work; what is open finishes as it began"), std::string::npos)
      << told.out;
  EXPECT_TRUE(eventually([&] { return in_use() == R"(test.good 1.10["test.good 1"])"; })) << in_use();

  gateway.by_default(Reply::accept());
  post("new");
  expect_accepted_once("new");
  EXPECT_GE(metric(client(), R"(submission_plugin_count_total{action_type="good",name="taken"})", 0), 2) << "by the new version";
  gateway.release();
  for (std::size_t i = 0; i < kInTheAir; ++i) expect_accepted_once("old-" + std::to_string(i));
  EXPECT_TRUE(eventually([&] { return in_use() == "test.good 1.10[]"; })) << in_use();
  EXPECT_EQ(host().pid(), pid);
}

TEST_F(Renewal, ThePinGoesBackToTheVersionOfBefore) {
  installation().add_plugin(bad_plugin("newer_good"));
  client();
  EXPECT_TRUE(eventually([&] { return in_use() == "test.good 1.10[]"; })) << in_use();
  configure(R"(senders: { good: { isolation: process, plugin_version: "1" } })");
  const auto told = reload();
  EXPECT_EQ(told.exit_code, 0) << told.out << told.err;
  EXPECT_NE(told.out.find("good: test.good 1 takes new work"), std::string::npos) << told.out;
  post("back");
  expect_accepted_once("back");
  EXPECT_TRUE(eventually([&] { return in_use() == "test.good 1[]"; })) << in_use();
}

TEST_F(Renewal, ABrokenFileLeavesTheVersionOfBeforeInUse) {
  client();
  const auto file = installation().plugin_folder() / "good.so";
  std::filesystem::remove(file);
  std::filesystem::copy_file(bad_plugin("crashes_at_load"), file);
  const auto told = reload();
  EXPECT_EQ(told.exit_code, 1) << told.err;
  EXPECT_NE(told.out.find("good.so: cannot be used"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("what was in use before goes on"), std::string::npos) << told.out;
  for (int i = 0; i < 20; ++i) post("after-" + std::to_string(i));
  for (int i = 0; i < 20; ++i) expect_accepted_once("after-" + std::to_string(i));
}

TEST_F(Renewal, APluginThatIsDroppedInWorksAfterAReload) {
  std::filesystem::remove(installation().plugin_folder() / "good.so");
  client();
  post("waits");
  installation().add_plugin(bad_plugin("good"));
  const auto told = reload();
  EXPECT_EQ(told.exit_code, 0) << told.out << told.err;
  EXPECT_NE(told.out.find("good: test.good 1 takes new work"), std::string::npos) << told.out;
  expect_accepted_once("waits");
}

TEST_F(Renewal, NewSettingsOfASenderAreTakenUp) {
  setup.more = "senders: { webhook: { isolation: process } }\n";
  post_intent(client(), intent("before", "hook.attempts", {{"n", 1}}), 30);
  configure("senders: { webhook: { isolation: { mode: process, processes: 2 }, timeout_ms: 7000 } }");
  const auto told = reload();
  EXPECT_EQ(told.exit_code, 0) << told.out << told.err;
  EXPECT_NE(told.out.find("with its settings of now takes new work"), std::string::npos) << told.out;
  EXPECT_EQ(reload().out.find("takes new work"), std::string::npos) << "nothing has changed since";
  post_intent(client(), intent("after", "hook.attempts", {{"n", 2}}), 30);
  EXPECT_EQ(wait_for_end(client(), "after")["status"], "accepted");
  EXPECT_EQ(gateway.count(), 2u);
  EXPECT_TRUE(eventually([&] { return children_of(host().pid()).size() >= 3; })) << "two at work, one ready";
}

TEST_F(Renewal, BadSettingsChangeNothingAndAreNamedWithTheirPlace) {
  setup.more = "senders: { webhook: { isolation: process } }\n";
  client();
  configure("senders: { webhook: { isolation: process, no_such_setting: 1 } }");
  const auto told = reload();
  EXPECT_EQ(told.exit_code, 1);
  EXPECT_NE(told.err.find("waybill.yaml"), std::string::npos) << told.err;
  EXPECT_NE(told.err.find("senders.webhook.no_such_setting"), std::string::npos) << told.err;
  post_intent(client(), intent("after", "hook.attempts", {{"n", 2}}), 30);
  EXPECT_EQ(wait_for_end(client(), "after")["status"], "accepted");
}

TEST_F(Renewal, AVersionWhoseCreateRefusesChangesNothing) {
  client();
  installation().add_plugin(bad_plugin("refuses_newer"));
  const auto told = reload();
  EXPECT_EQ(told.exit_code, 1) << told.out;
  EXPECT_NE(told.err.find("test.good 2 cannot be used"), std::string::npos) << told.err;
  EXPECT_NE(told.err.find("test.good 1 stays in use"), std::string::npos) << told.err;
  post("after");
  expect_accepted_once("after");
  EXPECT_TRUE(eventually([&] { return in_use() == "test.good 1[]"; })) << in_use();
}

TEST_F(Renewal, AVersionThatNoFileHasChangesNothing) {
  client();
  configure("senders: { good: { isolation: process, plugin_version: 9 } }");
  const auto told = reload();
  EXPECT_EQ(told.exit_code, 1) << told.out;
  EXPECT_NE((told.out + told.err).find("no file has the version that plugin_version names; test.good 1 stays in use"),
            std::string::npos)
      << told.out << told.err;
  post("after");
  expect_accepted_once("after");
}

TEST_F(Renewal, WhatElseHasChangedIsSaidToNeedARestart) {
  client();
  write_file(installation().config(), read_file(installation().config()) + "dead: { replay_rate: 11 }\n");
  const auto told = reload();
  EXPECT_NE((told.out + told.err).find("has changed in more than a reload takes up"), std::string::npos) << told.out << told.err;
}

TEST_F(Renewal, WhatRunsInTheHostIsNamedAndStaysAsItIs) {
  setup.more = "senders: { webhook: { timeout_ms: 9000 } }\n";
  client();
  configure("senders: { webhook: { timeout_ms: 8000 } }");
  const auto told = reload();
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_NE(told.out.find("senders.webhook: the plugin runs in the host: a restart takes up what has changed here"),
            std::string::npos)
      << told.out;
}

}  // namespace
}  // namespace waybill::testing
