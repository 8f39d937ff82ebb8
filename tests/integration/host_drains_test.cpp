// Operators look at hosts, drain one and let it work again: with another host beside it, alone, over a restart, and while it is
// away.  O5
#include <gtest/gtest.h>
#include <signal.h>

#include "support/eventually.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class HostDrains : public World {
 protected:
  HostDrains() {
    setup.more = "host_name: first\ntimeouts: {poll: 20ms}\n";
    second_setup = setup;
    second_setup.more = "host_name: second\ntimeouts: {poll: 20ms}\n";
  }

  CommandResult hosts(std::vector<std::string> words) {
    words.insert(words.begin(), "hosts");
    return installation().command(words);
  }
  void drain(const std::string& name) {
    const auto done = hosts({"drain", name, "--reason", "new kernel", "--actor", "ada"});
    ASSERT_EQ(done.exit_code, 0) << done.err;
  }
  json listed(const std::string& name) {
    const auto said = hosts({"list", "--json"});
    EXPECT_EQ(said.exit_code, 0) << said.err;
    const auto list = json::parse(said.out);
    for (const auto& host : list["items"])
      if (host["name"] == name) return host;
    return {{"state", "not listed"}};
  }
  void wait_for_state(const std::string& name, const std::string& state) {
    ASSERT_TRUE(eventually([&] { return listed(name)["state"] == state; })) << state << ": " << listed(name);
  }
  json explained(const std::string& id) { return json::parse(installation().command({"explain", id, "--json"}).out); }
  std::string readiness() { return client().get("/readyz").body; }
  std::string claimed_by(const std::string& id) {
    return sql().text(
        "SELECT h.name FROM waybill.ready r JOIN waybill.submissions s ON s.id = r.submission_id JOIN waybill.hosts h "
        "ON h.host_id = r.claimed_by WHERE s.client_ref = '" +
        id + "'");
  }

  HostSetup second_setup;
};

// O5
TEST_F(HostDrains, TheListTellsHowAHostIs) {
  EXPECT_EQ(post_intent(client(), sms_intent("one", "sms.attempts"), 30).json().at("status"), "accepted");
  ASSERT_TRUE(eventually([&] { return listed("first")["lastSuccessAt"].is_string() && listed("first")["registry"].is_string(); }))
      << listed("first");
  const auto host_now = listed("first");
  EXPECT_EQ(host_now["state"], "ready");
  EXPECT_NE(host_now["process"].get<std::string>().find(":" + std::to_string(host().pid())), std::string::npos);
  EXPECT_EQ(host_now["schema"], sql().number("SELECT max(version) FROM waybill.schema_migrations"));
  EXPECT_FALSE(host_now["version"].get<std::string>().empty());
  EXPECT_FALSE(host_now["registry"].get<std::string>().empty());
  bool has_sms = false;
  for (const auto& plugin : host_now["plugins"]) has_sms |= plugin["actionType"] == "sms" && plugin["plugin"] != "";
  EXPECT_TRUE(has_sms) << host_now;
  EXPECT_EQ(host_now["drain"], nullptr);
  const auto words = hosts({"list"}).out;
  for (const char* word : {"first: ready", "last success 20", "plugins      ", "sms ("})
    EXPECT_NE(words.find(word), std::string::npos) << word << "\n" << words;
}

// O5
TEST_F(HostDrains, ADrainedHostFinishesWhatItHasAndLeavesTheRestToAnother) {
  host();
  const Installation place(second_setup);
  Daemon second(place);
  wait_for_state("second", "ready");
  drain("second");
  wait_for_state("second", "drained");
  gateway.by_default(Reply::accept_when_released());
  post_intent(client(), sms_intent("held", "sms.attempts"));
  ASSERT_TRUE(gateway.wait_for_count("held", 1));
  EXPECT_EQ(hosts({"resume", "second"}).exit_code, 0);
  wait_for_state("second", "ready");
  drain("first");
  ASSERT_TRUE(eventually([&] { return client().get("/readyz").status == 503; })) << "it has heard of it";
  EXPECT_NE(readiness().find("drained"), std::string::npos) << readiness();
  ASSERT_TRUE(eventually([&] { return listed("first")["notReady"].is_string(); }));
  EXPECT_EQ(listed("first")["state"], "draining");
  EXPECT_EQ(listed("first")["inFlight"], 1) << "it keeps what it has";
  EXPECT_EQ(claimed_by("held"), listed("first")["process"]);
  EXPECT_EQ(client().get("/healthz").status, 200);
  for (int i = 0; i < 20; ++i) post_intent(client(), sms_intent("new-" + std::to_string(i), "sms.attempts"));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(gateway.wait_for_count("new-" + std::to_string(i), 1)) << i;
  const auto other = listed("second")["process"].get<std::string>();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(claimed_by("new-" + std::to_string(i)), other) << "the drained host took it in only";
  gateway.release();
  EXPECT_EQ(wait_for_end(client(), "held")["status"], "accepted");
  wait_for_state("first", "drained");
  EXPECT_NE(installation().command({"doctor"}).out.find("was drained at "), std::string::npos);
}

// O5
TEST_F(HostDrains, TheOnlyHostSaysSoAndExplainTooAlsoAfterARestart) {
  host();
  wait_for_state("first", "ready");
  const auto done = hosts({"drain", "first", "--reason", "new kernel", "--actor", "ada"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.err.find("warning: no other host claims anything"), std::string::npos) << done.err;
  wait_for_state("first", "drained");
  post_intent(client(), sms_intent("waits", "sms.patient"));
  const auto is_told = [&] {
    const auto why = explained("waits");
    return why["code"] == "host_drained" && why["why"].get<std::string>().find("by ada: new kernel") != std::string::npos &&
           why["why"].get<std::string>().find("waybill hosts resume first") != std::string::npos;
  };
  ASSERT_TRUE(eventually(is_told)) << explained("waits");
  give_up_host();
  Daemon again(installation(), Daemon::Until::accepting);
  auto its_client = again.client();
  wait_for_state("first", "drained");
  EXPECT_EQ(post_intent(its_client, sms_intent("waits-too", "sms.patient"), 1).json().at("status"), "pending");
  EXPECT_EQ(gateway.count("waits") + gateway.count("waits-too"), 0u);
  const auto resumed = hosts({"resume", "first"});
  EXPECT_NE(resumed.out.find("the drain of first is over, since "), std::string::npos) << resumed.out << resumed.err;
  EXPECT_EQ(wait_for_end(its_client, "waits")["status"], "accepted");
  EXPECT_EQ(wait_for_end(its_client, "waits-too")["status"], "accepted");
  wait_for_state("first", "ready");
  EXPECT_EQ(hosts({"resume", "first"}).exit_code, 1);
}

// O5
TEST_F(HostDrains, OneThatIsAwayIsDrainedForWhenItComesBack) {
  host();
  const Installation place(second_setup);
  {
    Daemon second(place);
    wait_for_state("second", "ready");
    second.kill_hard();
  }
  wait_for_state("second", "away");
  const auto done = hosts({"drain", "second", "--reason", "its disk"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.out.find("no process of it runs now: the drain holds when it comes back"), std::string::npos) << done.out;
  EXPECT_EQ(done.err, "") << "another host claims";
  EXPECT_EQ(listed("second")["state"], "away");
  Daemon again(place, Daemon::Until::accepting);
  wait_for_state("second", "drained");
  auto its_client = again.client();
  EXPECT_EQ(its_client.get("/readyz").status, 503);
  EXPECT_EQ(post_intent(its_client, sms_intent("in", "sms.attempts"), 30).json().at("status"), "accepted") << "by the other";
}

// O5
TEST_F(HostDrains, AHungHostIsToldOfAsSuch) {
  host();
  const Installation place(second_setup);
  Daemon second(place);
  wait_for_state("second", "ready");
  second.signal(SIGSTOP);
  wait_for_state("second", "silent");
  const auto done = hosts({"drain", "second", "--reason", "it hangs"});
  EXPECT_NE(done.out.find("is silent: the drain holds when it comes back"), std::string::npos) << done.out << done.err;
  second.signal(SIGCONT);
  wait_for_state("second", "drained");
}

// O5
TEST_F(HostDrains, WhatIsWrongIsRefused) {
  EXPECT_EQ(installation().command({"migrate"}).exit_code, 0);
  EXPECT_EQ(hosts({"list"}).out, "no host runs, and none was heard\n");
  for (const char* wrong : {"nobody", "; DROP TABLE waybill.hosts", "\n", "../../etc", "%"}) {
    const auto refused = hosts({"drain", wrong, "--reason", "x"});
    EXPECT_EQ(refused.exit_code, 1) << wrong;
    EXPECT_NE(refused.err.find("no host is called"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(hosts({"drain", "first"}).exit_code, 2) << "without a reason";
  write_file(installation().folder() / "bad.yaml", "host_name: \"a b\"\nauth: none\ndatabase: {url: \"postgresql://x\"}\n");
  const auto bad =
      run({.arguments = {waybill_program().string(), "check", "--config", (installation().folder() / "bad.yaml").string()},
           .folder = installation().folder()});
  EXPECT_NE(bad.err.find("host_name"), std::string::npos) << bad.err;
}

class HostDrainsOverHttp : public HostDrains {
 protected:
  HostDrainsOverHttp() { setup.auth = "tokens"; }
  static HttpResponse post(HttpClient& who, const std::string& name, const std::string& what, const std::string& body) {
    return who.request("POST", "/v1/hosts/" + escaped(name) + "/" + what, body);
  }
};

// O5 S8
TEST_F(HostDrainsOverHttp, OperatorsDoItAndNobodyElse) {
  host();
  wait_for_state("first", "ready");
  ASSERT_EQ(installation().command({"org", "create", "acme"}).exit_code, 0);
  auto keeper = client_of("default", "operator"), admin = client_of("default", "admin"), stranger = client_of("acme", "owner");
  for (auto* who : {&admin, &stranger}) {
    EXPECT_EQ(post(*who, "first", "drain", R"({"reason":"x"})").status, 403);
    EXPECT_EQ(post(*who, "first", "resume", "").status, 403);
    EXPECT_EQ(who->get("/v1/hosts").status, 403);
  }
  const auto drained = post(keeper, "first", "drain", R"({"reason":"new kernel"})");
  ASSERT_EQ(drained.status, 200) << drained.body;
  EXPECT_EQ(drained.json()["drain"]["reason"], "new kernel");
  EXPECT_EQ(drained.json()["othersThatClaim"], 0);
  EXPECT_EQ(post(keeper, "first", "drain", R"({"reason":"again"})").status, 409);
  EXPECT_EQ(post(keeper, "nobody", "drain", R"({"reason":"x"})").status, 404);
  for (const char* wrong : {"{}", R"({"reason":""})", R"({"reason":1})", R"({"reason":"x","until":"y"})", "[]", ""})
    EXPECT_EQ(post(keeper, "first", "drain", wrong).status, 400) << wrong;
  for (const char* hostile : {"'; --", "%", "first\n"})
    EXPECT_EQ(post(keeper, hostile, "drain", R"({"reason":"x"})").status, 404) << hostile;
  wait_for_state("first", "drained");
  const auto list = keeper.get("/v1/hosts").json();
  ASSERT_EQ(list["items"].size(), 1u);
  EXPECT_NE(list["items"][0]["drain"]["actor"].get<std::string>().find("default-operator"), std::string::npos) << list;
  const auto resumed = post(keeper, "first", "resume", "");
  ASSERT_EQ(resumed.status, 200) << resumed.body;
  EXPECT_EQ(resumed.json()["drain"]["reason"], "new kernel");
  EXPECT_EQ(post(keeper, "first", "resume", "").status, 404);
  wait_for_state("first", "ready");
}

}  // namespace
}  // namespace waybill::testing
