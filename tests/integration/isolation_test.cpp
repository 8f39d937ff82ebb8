// Plugins in processes of their own: what such a plugin does to its process costs the attempt that it was inside of, and nothing
// else. I1 I2
#include <gtest/gtest.h>
#include <signal.h>

#include "support/bad_plugins.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Isolation : public World {
 protected:
  void in_process_of_its_own(const std::string& types, const std::string& more = "timeouts: {attempt: 30s}\n") {
    std::string senders;
    for (const auto& type : json::parse("[" + types + "]"))
      senders += "  " + type.get<std::string>() + ": {isolation: process}\n";
    setup.more = "senders:\n" + senders + more;
  }
  std::string end_of(const std::string& id) {
    return sql().text(
        "SELECT coalesce((SELECT state || coalesce(' ' || reason, '') FROM waybill.submission_states WHERE client_ref = '" + id +
        "'), '')");
  }
};

TEST_F(Isolation, APluginThatIsNotRebuiltDeliversFromAProcess) {
  in_process_of_its_own(R"("webhook", "sms")");
  post_intent(client(), intent("one", "hook.attempts", {{"n", 1}}), 30);
  EXPECT_EQ(wait_for_end(client(), "one")["status"], "accepted");
  post_intent(client(), sms_intent("two", "sms.attempts"), 30);
  EXPECT_EQ(wait_for_end(client(), "two")["status"], "accepted");
  EXPECT_EQ(gateway.count(), 2u);
}

TEST_F(Isolation, ItsProcessesEndWithTheHostHoweverThatEnds) {
  in_process_of_its_own(R"("webhook")");
  post_intent(client(), intent("one", "hook.attempts", {{"n", 1}}), 30);
  const auto children = children_of(host().pid());
  EXPECT_GE(children.size(), 2u) << "one at work, one ready";
  host().kill_hard();
  for (const auto child : children)
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists("/proc/" + std::to_string(child)); })) << child;
}

// A service manager ends all processes of a service at once, and Ctrl-C all of a terminal: the host is to finish what it has.
TEST_F(Isolation, ItsProcessesOutliveWhatEndsTheirHost) {
  in_process_of_its_own(R"("webhook")");
  gateway.by_default(Reply::accept_when_released());
  client();
  for (int i = 0; i < 5; ++i) post_intent(client(), intent("held-" + std::to_string(i), "hook.once", {{"n", i}}));
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() >= 5; }));
  const auto children = children_of(host().pid());
  ASSERT_GE(children.size(), 2u);
  for (const auto child : children)
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::kill(child, signal);
  ::kill(host().pid(), SIGTERM);
  gateway.release();
  EXPECT_EQ(host().wait(), 0);
  EXPECT_EQ(host().log().find("plugin.died"), std::string::npos);
  EXPECT_EQ(gateway.count(), 5u);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submission_states WHERE state = 'accepted'"), 5);
}

TEST_F(Isolation, TheListOfPluginsTells) {
  in_process_of_its_own(R"("webhook")");
  const auto list = json::parse(installation().command({"plugin", "list", "--json"}).out);
  for (const auto& one : list.at("loaded"))
    EXPECT_EQ(one.at("isolation"), one.at("file") == "webhook.so" ? "process" : "in_process") << one;
  EXPECT_NE(installation().command({"plugin", "list"}).out.find("webhook (process: senders.webhook.isolation)"),
            std::string::npos);
}

TEST_F(Isolation, AMisspeltSettingIsNamedWithItsPlace) {
  in_process_of_its_own(R"("webhook")");
  setup.more = "senders: { webhook: { isolation: { mode: proces, memory: 1 } } }\n";
  const auto checked = installation().command({"check"});
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_NE((checked.out + checked.err).find("senders.webhook.isolation.memory"), std::string::npos)
      << checked.out << checked.err;
}

TEST_F(Isolation, AFileThatItShallReadAndThatIsNotThereIsNamed) {
  setup.more = "senders: { webhook: { isolation: { read: [/etc/hostname, ./no-such-file] } } }\n";
  const auto checked = installation().command({"check"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_NE(checked.err.find("no-such-file is not there"), std::string::npos) << checked.err;
  EXPECT_EQ(checked.err.find("hostname"), std::string::npos) << checked.err;
}

class Brittle : public Isolation {
 protected:
  Brittle() {
    auto targets = standard_targets(gateway.url());
    targets.push_back(target("brittle", "brittle", gateway.url() + "/brittle", "max_attempts", 3, {"invalid_request"}));
    targets.push_back(target("brittle.once", "brittle", gateway.url() + "/once", "one_shot", 1, {"invalid_request"}));
    setup.registry = registry_of(targets);
    in_process_of_its_own(R"("brittle")");
    installation().add_plugin(bad_plugin("brittle"));
  }
};

TEST_F(Brittle, ACrashCostsTheDeliveryThatItWasInsideOfAndNothingElse) {
  const auto pid = (client(), host().pid());
  for (int i = 0; i < 20; ++i) post_intent(client(), intent("healthy-" + std::to_string(i), "brittle.once", {{"n", i}}));
  post_intent(client(), intent("poison", "brittle", {{"taste", "poison"}}));
  for (int i = 20; i < 40; ++i) post_intent(client(), intent("healthy-" + std::to_string(i), "brittle.once", {{"n", i}}));
  EXPECT_TRUE(eventually([&] { return end_of("poison") == "exhausted worker_lost"; })) << end_of("poison");
  for (int i = 0; i < 40; ++i) {
    const auto id = "healthy-" + std::to_string(i);
    EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted") << id;
    EXPECT_EQ(gateway.count(id), 1u) << id;
  }
  EXPECT_EQ(host().pid(), pid);
  EXPECT_TRUE(host().running());
  const auto delivery = sql().text("SELECT delivery_id FROM waybill.attempts WHERE NOT counts LIMIT 1");
  EXPECT_TRUE(eventually([&] {
    return sql().number(
               "SELECT count(*) FROM waybill.alerts WHERE kind = 'plugin_crash' AND message LIKE '%test.brittle 1%' AND "
               "message LIKE '%SIGSEGV%' AND message LIKE '%delivery " +
               delivery + "%'") > 0;
  })) << sql().text("SELECT coalesce(string_agg(message, ' / '), 'no alert') FROM waybill.alerts");
}

TEST_F(Brittle, WhatIsInTheAirWhenAProcessDiesIsNotSentAgain) {
  constexpr std::size_t kInTheAir = 20;
  gateway.by_default(Reply::accept_when_released());
  client();
  for (std::size_t i = 0; i < kInTheAir; ++i)
    post_intent(client(), intent("healthy-" + std::to_string(i), "brittle.once", {{"n", i}}));
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() >= kInTheAir; }));
  post_intent(client(), intent("poison", "brittle", {{"taste", "poison"}}));
  ASSERT_TRUE(host().wait_for_log("plugin.died"));
  gateway.by_default(Reply::accept());
  gateway.release();
  for (std::size_t i = 0; i < kInTheAir; ++i) {
    const auto id = "healthy-" + std::to_string(i);
    EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted") << id << history_of(client(), id);
    EXPECT_EQ(gateway.count(id), 1u) << id;
  }
}

TEST_F(Brittle, AOneShotThatWasInsideAndNotSentIsTriedAgain) {
  client();
  post_intent(client(), intent("poison", "brittle.once", {{"taste", "poison"}}));
  EXPECT_TRUE(eventually([&] { return end_of("poison") == "exhausted worker_lost"; })) << end_of("poison");
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.attempts WHERE NOT counts AND outcome = 'error'"), 3)
      << sql().text("SELECT string_agg(outcome || ' ' || coalesce(error, ''), ' / ') FROM waybill.attempts");
}

// I5
class WildOnes : public Isolation {
 protected:
  void meet_them(const std::string& attempt) {
    auto targets = standard_targets(gateway.url());
    targets.push_back(target("wild", "wild", gateway.url() + "/wild", "max_attempts", 3, {"invalid_request"}));
    targets.push_back(target("wild.once", "wild", gateway.url() + "/once", "one_shot", 1, {"invalid_request"}));
    setup.registry = registry_of(targets);
    setup.more = "senders:\n  wild: {isolation: {mode: process, memory_mib: 256, threads: 16}}\ntimeouts: {attempt: " + attempt +
                 ", lease: 200s, attempt_grace: 500ms, drain: 2s}\n";
    installation().add_plugin(bad_plugin("wild"));
    pid_ = (client(), host().pid());
  }
  void send(const std::string& id, const std::string& to, const json& payload) { post_intent(client(), intent(id, to, payload)); }
  // Some of others' between two of theirs.
  void send_healthy(const std::string& to) {
    for (int i = 0; i < 3; ++i, ++healthy_) send("healthy-" + std::to_string(healthy_), to, {{"n", healthy_}});
  }
  void expect_deaths(const std::vector<std::string>& ways) {
    for (const auto& way : ways)
      EXPECT_TRUE(eventually([&] { return end_of(way) == "exhausted worker_lost"; }, std::chrono::minutes(10)))
          << way << ": " << end_of(way) << history_of(client(), way);
  }
  void expect_every_healthy_one_accepted() {
    for (int i = 0; i < healthy_; ++i) {
      const auto id = "healthy-" + std::to_string(i);
      EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted") << id << history_of(client(), id);
    }
  }
  void expect_the_host_never_noticed() {
    EXPECT_EQ(host().pid(), pid_);
    EXPECT_TRUE(host().running());
    post_intent(client(), sms_intent("beside", "sms.attempts"), 30);
    EXPECT_EQ(wait_for_end(client(), "beside")["status"], "accepted");
  }
  int healthy_ = 0;

 private:
  pid_t pid_ = 0;
};

TEST_F(WildOnes, WhateverTheyDoTheHostLivesAndOnlyTheirOwnDeliveriesPay) {
  meet_them("90s");
  const std::vector<std::string> fatal{"crash", "abort", "exit", "eats", "eats_shared", "stack", "endless"};
  const std::vector<std::string> prevented{"forks",  "signals", "traces",   "files",  "sockets", "programs",  "others",
                                           "closes", "writes",  "shortens", "limits", "changes", "datagrams", "loose"};
  for (const auto* ways : {&fatal, &prevented})
    for (const auto& way : *ways) {
      send_healthy("wild.once");
      send(way, "wild", {{"way", way}});
    }
  for (const auto* way : {"requests", "threads"}) send(way, "wild", {{"way", way}});
  send_healthy("wild.once");

  expect_deaths(fatal);
  for (const auto& way : prevented) EXPECT_EQ(wait_for_end(client(), way)["status"], "accepted") << history_of(client(), way);
  for (const auto* way : {"requests", "threads"})
    EXPECT_EQ(wait_for_end(client(), way)["status"], "exhausted") << history_of(client(), way);
  expect_every_healthy_one_accepted();
  for (int i = 0; i < healthy_; ++i) EXPECT_EQ(gateway.count("healthy-" + std::to_string(i)), 1u) << i;
  expect_the_host_never_noticed();
}

TEST_F(WildOnes, ThatDoNotComeBackEndAndOthersGoOn) {
  meet_them("3s");
  const std::vector<std::string> hanging{"spins", "stops"};
  for (const auto& way : hanging) {
    send_healthy("wild");
    send(way, "wild", {{"way", way}});
  }
  send_healthy("wild");
  expect_deaths(hanging);
  expect_every_healthy_one_accepted();
  expect_the_host_never_noticed();
}

}  // namespace
}  // namespace waybill::testing
