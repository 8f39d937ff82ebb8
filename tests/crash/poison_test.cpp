// A plugin that brings its host down on one payload, beside healthy work: only the payload pays for it.  E1
#include <gtest/gtest.h>

#include "crash/place.h"
#include "support/bad_plugins.h"
#include "support/temp_folder.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

constexpr int kHealthy = 200;
constexpr std::size_t kConnections = 128;  // limits.per_host_name

class Poison : public World {
 protected:
  Poison() {
    auto targets = standard_targets(gateway.url());
    targets.push_back(target("brittle", "brittle", gateway.url() + "/brittle", "max_attempts", 3, {"invalid_request"}));
    setup.registry = registry_of(targets);
    setup.more = "timeouts: {attempt: 30s}\n";
  }
  static void add(const Installation& place, const std::string& name) { place.add_plugin(bad_plugin(name)); }
  static json poisoned(const std::string& id, const std::string& with = "poison") {
    return intent(id, "brittle", {{"taste", with}});
  }
  static std::string healthy(int i) { return "healthy-" + std::to_string(i); }

  // So many that wait for their answer in the host's hands.
  void fill(HttpClient& through, int from, int count) {
    for (int i = from; i < from + count; ++i) ASSERT_EQ(post_intent(through, sms_intent(healthy(i), "sms.attempts")).status, 200);
  }
  std::string end_of(const std::string& id) {
    return sql().text(
        "SELECT coalesce((SELECT state || coalesce(' ' || reason, '') FROM waybill.submission_states WHERE client_ref = '" + id +
        "'), '')");
  }
  void expect_every_healthy_one_accepted() {
    EXPECT_TRUE(eventually([&] {
      return sql().number(
                 "SELECT count(*) FROM waybill.submission_states WHERE state = 'accepted' AND client_ref LIKE 'healthy-%'") ==
             kHealthy;
    }))
        << sql().text(
               "SELECT string_agg(state || ' ' || coalesce(reason, ''), ', ') FROM waybill.submission_states WHERE state <> "
               "'accepted'");
    for (int i = 0; i < kHealthy; ++i) EXPECT_GE(gateway.count(healthy(i)), 1u) << i;
    EXPECT_EQ(sql().number("SELECT count(DISTINCT delivery_id) FROM waybill.attempts WHERE error LIKE '%inside the plugin%'"), 1)
        << "a death is charged to the poison alone";
  }
  void expect_an_alert_that_names_it(const std::string& id) {
    const auto delivery = sql().text(
        "SELECT id FROM waybill.deliveries WHERE submission_id = (SELECT id FROM waybill.submissions WHERE client_ref = '" + id +
        "')");
    EXPECT_TRUE(eventually([&] {
      return sql().number(
                 "SELECT count(*) FROM waybill.alerts WHERE kind = 'plugin_crash' AND message LIKE '%test.brittle%' AND message "
                 "LIKE '%" +
                 delivery + "%'") == 1;
    })) << sql().text("SELECT coalesce(string_agg(message, ' / '), 'no alert') FROM waybill.alerts");
  }
};

TEST_F(Poison, EndsAloneAndTheHostThatIsStartedAgainNeverNotices) {
  add(installation(), "brittle");
  gateway.by_default(Reply::hang());
  fill(client(), 0, kHealthy);
  // As many as there are connections: no other begins, and the plugin of these has returned.
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() >= kConnections; }));
  static_cast<void>(
      client().try_request("POST", "/v1/intents", poisoned("poison").dump()));  // its answer may go down with the host
  ASSERT_TRUE(host().wait().has_value());
  gateway.by_default(Reply::accept());
  restart_host();
  const auto pid = host().pid();
  EXPECT_TRUE(eventually([&] { return end_of("poison") == "exhausted worker_lost"; })) << end_of("poison");
  expect_every_healthy_one_accepted();
  EXPECT_TRUE(host().running());
  EXPECT_EQ(host().pid(), pid);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.attempts WHERE outcome = 'unknown' AND counts"), 0);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.dead_letters"), 1);
  expect_an_alert_that_names_it("poison");
  EXPECT_TRUE(host().wait_for_log("plugin.crashed"));
  EXPECT_GE(metric(client(), "submission_plugin_misbehaviour_total{action_type=\"brittle\",how=\"crashed_host\"}"), 2);

  // Mended, it goes out under its own key.
  std::filesystem::remove(installation().plugin_folder() / "brittle.so");
  std::filesystem::copy_file(bad_plugin("brittle"), installation().plugin_folder() / "brittle.so");
  const auto replayed = installation().command({"dead", "replay", "--reason", "worker_lost", "--json"});
  EXPECT_EQ(replayed.exit_code, 0) << replayed.out << replayed.err;
}

TEST_F(Poison, IsNamedAlsoWhenItStrikesAsTheAnswerComes) {
  add(installation(), "brittle");
  static_cast<void>(client().try_request("POST", "/v1/intents", poisoned("late", "aftertaste").dump()));
  ASSERT_TRUE(host().wait().has_value());
  restart_host();
  EXPECT_TRUE(eventually([&] { return end_of("late") == "exhausted worker_lost"; })) << end_of("late");
  EXPECT_TRUE(host().running());
  EXPECT_EQ(gateway.count(), 3u) << "sent in each of its three attempts";
}

TEST_F(Poison, WhatOnlyHappenedToBeThereIsTriedAloneAndGoesOnAsIfNothingHadBeen) {
  setup.more = "timeouts: {attempt: 30s, lease: 60s}\n";
  auto targets = standard_targets(gateway.url());
  targets.push_back(target("slow", "sleeps_in_send", gateway.url() + "/slow", "max_attempts", 3, {"invalid_request"}));
  setup.registry = registry_of(targets);
  add(installation(), "sleeps_in_send");
  client();
  // Killed at whatever moment, again and again: it may be inside the plugin or not.
  for (int round = 0; round < 3; ++round) {
    const auto id = "victim-" + std::to_string(round);
    static_cast<void>(post_intent(client(), intent(id, "slow", {{"n", round}})));
    EXPECT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.claims") > 0 || end_of(id) == "accepted"; }));
    host().kill_hard();
    restart_host();
  }
  for (int round = 0; round < 3; ++round)
    EXPECT_EQ(wait_for_end(client(), "victim-" + std::to_string(round))["status"], "accepted");
}

// I2
TEST_F(Poison, WithAProcessOfItsOwnCostsNoHostAndNothingBesideIt) {
  auto targets = standard_targets(gateway.url());
  targets.push_back(target("brittle", "brittle", gateway.url() + "/brittle", "max_attempts", 3, {"invalid_request"}));
  targets.push_back(target("brittle.once", "brittle", gateway.url() + "/once", "one_shot", 0, {"invalid_request"}));
  setup.registry = registry_of(targets);
  setup.more += "senders: { brittle: { isolation: process } }\n";
  add(installation(), "brittle");
  gateway.by_default(Reply::accept_when_released());
  const auto pid = (client(), host().pid());
  const auto fill_once = [&](int from, int count) {
    for (int i = from; i < from + count; ++i)
      ASSERT_EQ(post_intent(client(), intent(healthy(i), "brittle.once", {{"n", i}})).status, 200);
  };
  fill_once(0, kHealthy / 2);
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() >= kHealthy / 2; }));
  for (int i = 0; i < 3; ++i) post_intent(client(), poisoned("poison-" + std::to_string(i)));
  fill_once(kHealthy / 2, kHealthy / 2);
  ASSERT_TRUE(host().wait_for_log("plugin.died"));
  gateway.by_default(Reply::accept());
  gateway.release();
  for (int i = 0; i < 3; ++i) {
    const auto id = "poison-" + std::to_string(i);
    EXPECT_TRUE(eventually([&] { return end_of(id) == "exhausted worker_lost"; })) << id << " " << end_of(id);
  }
  EXPECT_TRUE(eventually([&] {
    return sql().number(
               "SELECT count(*) FROM waybill.submission_states WHERE state = 'accepted' AND client_ref LIKE 'healthy-%'") ==
           kHealthy;
  }));
  for (int i = 0; i < kHealthy; ++i) EXPECT_EQ(gateway.count(healthy(i)), 1u) << healthy(i);
  EXPECT_EQ(host().pid(), pid);
  EXPECT_TRUE(host().running());
}

class PoisonOfTwo : public Poison {
 protected:
  void start(Place& place) {
    if (!place.installation) {
      place.installation = std::make_unique<Installation>(setup);
      add(*place.installation, "brittle");
    }
    place.start(setup, sql());
  }
  std::array<Place, 2> places;
};

TEST_F(PoisonOfTwo, TheOtherHostOfTheMachineKnowsAndLives) {
  const TempFolder shared;
  setup.breadcrumbs = (shared.path() / "crumbs").string();
  for (auto& place : places) start(place);
  gateway.by_default(Reply::hang());
  for (int i = 0; i < 2; ++i) {
    auto through = places[static_cast<std::size_t>(i)].daemon->client();
    fill(through, i * kHealthy / 2, kHealthy / 2);
  }
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() >= 100; }));
  static_cast<void>(places[0].daemon->client().try_request("POST", "/v1/intents", poisoned("poison").dump()));
  ASSERT_TRUE(eventually([&] { return !places[0].daemon->running() || !places[1].daemon->running(); }));
  gateway.by_default(Reply::accept());
  gateway.release();
  EXPECT_TRUE(eventually([&] { return end_of("poison") == "exhausted worker_lost"; })) << end_of("poison");
  EXPECT_NE(places[0].daemon->running(), places[1].daemon->running()) << "one died, once";
  expect_every_healthy_one_accepted();
  expect_an_alert_that_names_it("poison");
}

// Two machines: neither sees the other's trails. Each can die of it once, then it is known there.
TEST_F(PoisonOfTwo, OnTwoMachinesItEndsAsWellAndNothingElseDoes) {
  for (auto& place : places) start(place);
  for (int i = 0; i < 2; ++i) {
    auto through = places[static_cast<std::size_t>(i)].daemon->client();
    fill(through, i * kHealthy / 2, kHealthy / 2);
  }
  static_cast<void>(places[0].daemon->client().try_request("POST", "/v1/intents", poisoned("poison").dump()));
  int deaths = 0;
  EXPECT_TRUE(eventually(
      [&] {
        for (auto& place : places)
          if (!place.daemon || !place.daemon->running()) {
            ++deaths;
            try {
              start(place);
            } catch (const std::exception&) {  // it died while it came up
            }
          }
        return end_of("poison") == "exhausted worker_lost";
      },
      std::chrono::seconds(120)))
      << end_of("poison") << " after " << deaths << " deaths";
  EXPECT_LE(deaths, 5);
  expect_every_healthy_one_accepted();
  expect_an_alert_that_names_it("poison");
}

// ---- deaths without a culprit ----

class TimeBomb : public Poison {
 protected:
  TimeBomb() {
    setup.registry = registry_of({target("bomb", "time_bomb", gateway.url(), "max_attempts", 3, {"invalid_request"}),
                                  target("sms.attempts", "sms", gateway.url(), "max_attempts", 3, {"invalid_request"})});
  }
  std::size_t alerts() {
    return static_cast<std::size_t>(sql().number("SELECT count(*) FROM waybill.alerts WHERE kind = 'plugin_switched_off'"));
  }
};

TEST_F(TimeBomb, ShowsItselfWhenActionTypesBeginOneByOneAndIsSwitchedOff) {
  client();
  post_intent(client(), sms_intent("before", "sms.attempts"), 30);
  host().terminate();
  add(installation(), "time_bomb");
  const auto log = installation().folder() / "log-of-all";
  int starts = 0;
  while (read_file(log).find("plugin.switched_off") == std::string::npos && ++starts <= 12) {
    Process serve(Command{.arguments = {waybill_program().string(), "serve", "--config", installation().config().string()},
                          .folder = installation().folder(),
                          .out = log,
                          .err = log});
    ASSERT_TRUE(eventually([&] { return !serve.running() || read_file(log).find("plugin.switched_off") != std::string::npos; }))
        << read_file(log);
  }
  EXPECT_GE(starts, 4) << "three deaths before a careful start";
  EXPECT_NE(read_file(log).find("host.careful_start"), std::string::npos);
  restart_host();
  EXPECT_EQ(post_intent(client(), intent("waits", "bomb", {{"n", 1}})).status, 200);
  post_intent(client(), sms_intent("after", "sms.attempts"), 30);
  EXPECT_EQ(wait_for_end(client(), "after")["status"], "accepted");
  EXPECT_EQ(get_intent(client(), "waits")["status"], "pending");
  EXPECT_TRUE(eventually([&] { return alerts() == 1; }));
  const auto why = json::parse(installation().command({"explain", "waits", "--json"}).out);
  EXPECT_EQ(why["code"], "switched_off") << why;
  EXPECT_NE(why["why"].get<std::string>().find("waybill plugin switch-on time_bomb"), std::string::npos) << why;
  EXPECT_TRUE(host().running());

  // A mended plugin takes its place.
  const auto file = installation().plugin_folder() / "time_bomb.so";
  host().terminate();
  std::filesystem::remove(file);
  EXPECT_EQ(installation().command({"plugin", "switch-on", "time_bomb", "--json"}).exit_code, 0);
  EXPECT_NE(installation().command({"plugin", "switch-on", "time_bomb"}).exit_code, 0);
}

}  // namespace
}  // namespace waybill::testing
