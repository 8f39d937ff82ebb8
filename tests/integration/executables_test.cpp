// Plugins that are executables of other languages, from `waybill plugin new` to a delivery. I4 I5
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "support/world.h"

namespace waybill::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Executables : public World {
 protected:
  Executables() {
    auto targets = standard_targets(gateway.url());
    for (const auto* policy : {"max_attempts", "one_shot"})
      targets.push_back(target(std::string("mine.") + policy, "mine", gateway.url() + "/mine", policy,
                               std::string(policy) == "max_attempts" ? 3 : 0, {"invalid_request", "not_found"}));
    setup.registry = registry_of(targets);
  }
  // The plugin that `waybill plugin new` writes, among the plugins.
  fs::path make(const std::string& language = "python") {
    const auto made = installation().command(
        {"plugin", "new", "mine", "--language", language, "--dir", installation().plugin_folder().string()});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return folder();
  }
  fs::path folder() { return installation().plugin_folder() / "mine.plugin"; }
  void write(const std::string& name, const std::string& text) {
    write_file(folder() / name, text);
    ::chmod((folder() / name).c_str(), 0644);
  }
  // A sender whose `send` has this body.
  void write_sender(const std::string& body) {
    write("sender.py", "import waybill_plugin as waybill\n\n@waybill.sender(\"mine\")\nasync def send(job, host):\n" + body +
                           "\nif __name__ == \"__main__\":\n    waybill.run()\n");
  }
  void post(const std::string& id, const json& payload = {{"n", 1}}, const std::string& name = "mine.max_attempts") {
    post_intent(client(), intent(id, name, payload));
  }
  std::string end_of(const std::string& id) {
    return sql().text(
        "SELECT coalesce((SELECT state || coalesce(' ' || reason, '') FROM waybill.submission_states WHERE client_ref = '" + id +
        "'), '')");
  }
  // Of so many that were posted before the poison, and as many after it.
  void expect_each_once(int count) {
    for (const auto* when : {"before-", "after-"})
      for (int i = 0; i < count; ++i) {
        const auto id = when + std::to_string(i);
        EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted") << id << history_of(client(), id);
        EXPECT_EQ(seen(id), 1u) << id;
      }
  }
  std::size_t seen(const std::string& id) {
    const auto all = gateway.received();
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [&](const auto& request) { return header_value(request.head, "Idempotency-Key") == id; }));
  }
};

TEST_F(Executables, WhatPluginNewWritesDeliversWhenItIsDroppedInBesideARunningHost) {
  const auto pid = (client(), host().pid());
  make();
  const auto told = installation().command({"reload"});
  EXPECT_EQ(told.exit_code, 0) << told.out << told.err;
  EXPECT_NE(told.out.find("mine: mine 0.1.0 takes new work"), std::string::npos) << told.out;
  for (int i = 0; i < 50; ++i) post("a-" + std::to_string(i));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(wait_for_end(client(), "a-" + std::to_string(i))["status"], "accepted");
  EXPECT_EQ(gateway.count(), 50u);
  EXPECT_EQ(host().pid(), pid);
  const auto checked = installation().command({"check"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_NE(checked.out.find("mine.plugin"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("process: it is an executable"), std::string::npos) << checked.out;
}

TEST_F(Executables, ItKeepsTheRulesThatAllPluginsKeep) {
  const auto checked = installation().command(
      {"plugin", "check", make().string(), "--samples", (folder() / "check.json").string(), "--time-limit", "120"});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  EXPECT_NE(checked.out.find("keeps the rules"), std::string::npos) << checked.out;
}

TEST_F(Executables, InTypeScriptItIsTheSame) {
  const auto pid = (client(), host().pid());
  make("typescript");
  const auto compiled = run({.arguments = {"/usr/bin/env", "tsc"}, .folder = folder()});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.out << compiled.err;
  const auto checked = installation().command(
      {"plugin", "check", folder().string(), "--samples", (folder() / "check.json").string(), "--time-limit", "120"});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  const auto told = installation().command({"reload"});
  EXPECT_EQ(told.exit_code, 0) << told.out << told.err;
  for (int i = 0; i < 50; ++i) post("a-" + std::to_string(i), {{"n", i}}, "mine.one_shot");
  for (int i = 0; i < 50; ++i) EXPECT_EQ(wait_for_end(client(), "a-" + std::to_string(i))["status"], "accepted");
  EXPECT_EQ(gateway.count(), 50u);
  EXPECT_EQ(host().pid(), pid);
}

TEST_F(Executables, ThatDoesNotStartBreaksTheRules) {
  make();
  write("sender.py", "raise ValueError('no such day')\n");
  const auto checked = installation().command({"plugin", "check", folder().string(), "--time-limit", "120"});
  EXPECT_EQ(checked.exit_code, 1) << checked.out;
  EXPECT_NE(checked.out.find("ValueError: no such day"), std::string::npos) << checked.out;
}

TEST_F(Executables, ThatBreaksARuleIsToldWhich) {
  make();
  write_sender("    await host.fetch('POST', job.destination['url'])\n    return waybill.rejected('no such reason!')\n");
  const auto checked =
      installation().command({"plugin", "check", folder().string(), "--samples", (folder() / "check.json").string(),
                              "--time-limit", "120", "--only", "reasons_declared"});
  EXPECT_EQ(checked.exit_code, 1) << checked.out << checked.err;
  EXPECT_NE(checked.out.find("reasons_declared"), std::string::npos) << checked.out;
}

TEST_F(Executables, WhoseProcessEndsInACallIsChargedForThatCallAlone) {
  make();
  write_sender(R"(    if job.payload["n"] == "poison":
        import os
        os._exit(3)
    answer = await host.fetch("POST", job.destination["url"], body=job.payload_bytes,
                              headers={"Idempotency-Key": job.idempotency_key})
    return waybill.judge(answer, "invalid_request")
)");
  const auto pid = (client(), host().pid());
  for (int i = 0; i < 20; ++i) post("before-" + std::to_string(i), {{"n", i}}, "mine.one_shot");
  post("poison", {{"n", "poison"}});
  for (int i = 0; i < 20; ++i) post("after-" + std::to_string(i), {{"n", i}}, "mine.one_shot");
  EXPECT_TRUE(eventually([&] { return end_of("poison") == "exhausted worker_lost"; })) << end_of("poison");
  expect_each_once(20);
  EXPECT_EQ(host().pid(), pid);
}

TEST_F(Executables, ThatSpinsIsKilledAndTheOthersGoOn) {
  setup.more = "timeouts: {attempt: 3s, attempt_grace: 500ms, lease: 200s}\n";
  make();
  write_sender(R"(    while job.payload["n"] == "spin":
        pass
    return waybill.accepted()
)");
  post("spin", {{"n", "spin"}});
  EXPECT_TRUE(host().wait_for_log("plugin.died"));
  post("healthy");
  EXPECT_EQ(wait_for_end(client(), "healthy")["status"], "accepted");
  EXPECT_TRUE(eventually([&] { return end_of("spin") == "exhausted worker_lost"; }))
      << end_of("spin") << history_of(client(), "spin");
}

// A crash in a thread that a call has begun is seen outside of all calls: which one it was is found out, at no other's cost.
TEST_F(Executables, ThatCrashesOutsideOfItsCallIsFoundAmongTheOthers) {
  setup.more = "timeouts: {attempt: 120s, attempt_grace: 500ms, lease: 200s}\nsenders: {mine: {isolation: {processes: 1}}}\n";
  make();
  write_sender(R"(    import asyncio, ctypes
    if job.payload["n"] == "poison":
        await asyncio.to_thread(lambda: ctypes.string_at(0))
    answer = await host.fetch("POST", job.destination["url"], body=job.payload_bytes,
                              headers={"Idempotency-Key": job.idempotency_key})
    await host.sleep(2)
    return waybill.judge(answer, "invalid_request")
)");
  const auto pid = (client(), host().pid());
  for (int i = 0; i < 6; ++i) post("before-" + std::to_string(i), {{"n", i}}, "mine.one_shot");
  post("poison", {{"n", "poison"}});
  for (int i = 0; i < 6; ++i) post("after-" + std::to_string(i), {{"n", i}}, "mine.one_shot");
  EXPECT_TRUE(eventually([&] { return end_of("poison") == "exhausted worker_lost"; }, std::chrono::minutes(10)))
      << end_of("poison") << history_of(client(), "poison");
  expect_each_once(6);
  EXPECT_EQ(host().pid(), pid);
}

// A callback that a call has left behind belongs to none.
TEST_F(Executables, ThatDoesNotAnswerOutsideOfAllCallsIsKilled) {
  setup.more = "senders: {mine: {isolation: {processes: 1}}}\ntimeouts: {attempt: 120s, lease: 200s}\n";
  make();
  write_sender(R"(    import asyncio, time
    if job.payload["n"] == "later":
        asyncio.get_running_loop().call_soon(time.sleep, 3600)
    return waybill.accepted()
)");
  post("later", {{"n", "later"}});
  EXPECT_EQ(wait_for_end(client(), "later")["status"], "accepted");
  for (int i = 0; i < 5; ++i) post("next-" + std::to_string(i), {{"n", i}}, "mine.one_shot");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(wait_for_end(client(), "next-" + std::to_string(i))["status"], "accepted");
  EXPECT_TRUE(host().wait_for_log("it has not answered for 5s"));
}

TEST_F(Executables, ThatIsKilledFromOutsideIsToldBySignal) {
  make();
  write_sender(R"(    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
)");
  post("killed", {{"n", 1}});
  EXPECT_TRUE(eventually([&] { return end_of("killed") == "exhausted worker_lost"; })) << end_of("killed");
  EXPECT_TRUE(host().wait_for_log("killed by SIGKILL"));
  EXPECT_EQ(host().log().find("it closed its stream"), std::string::npos);
}

TEST_F(Executables, ThatLogsWithoutEndFillsNoLog) {
  make();
  write_sender(R"(    for i in range(100000):
        host.log(f"line {i}")
    return waybill.accepted()
)");
  post("loud");
  EXPECT_EQ(wait_for_end(client(), "loud")["status"], "accepted");
  EXPECT_TRUE(host().wait_for_log("too_many_logs"));
  EXPECT_EQ(host().log().find("line 50000"), std::string::npos);
}

TEST_F(Executables, HasNoNetworkNoFilesAndNoOtherPrograms) {
  make();
  write_sender(R"(    import socket, subprocess
    found = []
    def tries(name, attempt):
        try:
            attempt()
            found.append(name)
        except (OSError, ValueError):
            pass
    tries("connects", lambda: socket.create_connection(("127.0.0.1", 1)))
    tries("reads", lambda: open("/etc/passwd").read())
    tries("writes", lambda: open("written", "w"))
    tries("runs", lambda: subprocess.run(["/usr/bin/true"]))
    return waybill.accepted(provider_ref="could: " + (",".join(found) or "nothing"))
)");
  post("tries");
  const auto end = wait_for_end(client(), "tries");
  EXPECT_EQ(end["status"], "accepted") << history_of(client(), "tries");
  EXPECT_NE(history_of(client(), "tries").dump().find("could: nothing"), std::string::npos) << history_of(client(), "tries");
}

TEST_F(Executables, WhoseFilesChangeRunsAsItWasTakenUpUntilAReload) {
  make();
  write_sender("    return waybill.accepted(provider_ref='the first')\n");
  post("one");
  EXPECT_EQ(wait_for_end(client(), "one")["status"], "accepted");
  write_sender("    return waybill.accepted(provider_ref='the second')\n");
  const auto told = installation().command({"reload"});
  EXPECT_EQ(told.exit_code, 0) << told.out << told.err;
  post("two");
  wait_for_end(client(), "two");
  EXPECT_NE(history_of(client(), "one").dump().find("the first"), std::string::npos);
  EXPECT_NE(history_of(client(), "two").dump().find("the second"), std::string::npos) << history_of(client(), "two");
}

TEST_F(Executables, ThatCannotBeUsedIsRefusedByNameWithReasonAndRemedy) {
  make();
  write("plugin.json", R"({"id": "mine", "version": "1", "command": ["python3", "sender.py"], "actions": [{"type": "other"}]})");
  const auto list = installation().command({"plugin", "list"});
  EXPECT_EQ(list.exit_code, 1);
  EXPECT_NE(list.out.find("mine.plugin"), std::string::npos) << list.out;
  EXPECT_NE(list.out.find("names no action type of plugin.json"), std::string::npos) << list.out;
  // A schema is read in the host: one without end must not end it, nor a reload.
  const auto pid = (client(), host().pid());
  write("plugin.json", R"({"id": "mine", "version": "2", "command": ["python3", "sender.py"],
    "actions": [{"type": "mine", "reasons": ["invalid_request"], "destinationSchema": {"$ref": "#"}}]})");
  const auto reloaded = installation().command({"reload"});
  EXPECT_EQ(reloaded.exit_code, 1) << reloaded.out << reloaded.err;
  EXPECT_NE((reloaded.out + reloaded.err).find("refers to itself without end"), std::string::npos)
      << reloaded.out << reloaded.err;
  EXPECT_EQ(host().pid(), pid);
  EXPECT_TRUE(host().running());
  write("plugin.json", "{");
  EXPECT_NE(installation().command({"plugin", "list"}).out.find("its plugin.json is not JSON"), std::string::npos);
}

}  // namespace
}  // namespace waybill::testing
