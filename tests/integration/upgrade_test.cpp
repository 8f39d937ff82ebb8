// A running host and a schema that is newer than it may use; commands on a schema that does not fit.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "support/bad_plugins.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

class Upgrade : public World {
 protected:
  // As if a program of the future had changed the schema in a way that none of today may run beside.
  void become_too_new() {
    sql().execute("INSERT INTO waybill.schema_migrations (version, name, runs_beside) VALUES (9999, '9999_later', 9999)");
  }
  void go_back() { sql().execute("DELETE FROM waybill.schema_migrations WHERE version = 9999"); }
  std::int64_t count(const std::string& what) { return sql().number("SELECT count(*) FROM waybill." + what); }
};

// E2
TEST_F(Upgrade, AHostThatSeesANewerSchemaStopsAtOnceFinishesWhatIsOutAndLosesNothing) {
  setup.more = "timeouts: {attempt: 60s, drain: 60s, lease: 180s}\nlimits: {in_flight: 10}\n";
  gateway.by_default(Reply::accept_when_released());
  std::mutex mutex;
  std::set<std::string> acknowledged;
  std::atomic<bool> refused{false};
  client();
  std::jthread load([&] {
    HttpClient own(host().port());
    for (int i = 0; !refused && i < 100'000; ++i) {
      const auto id = "u-" + std::to_string(i);
      const auto answer = own.try_request("POST", "/v1/intents", sms_intent(id, "sms.patient").dump());
      if (!answer || answer->status != 200) {
        refused = true;
        return;
      }
      const std::lock_guard lock(mutex);
      acknowledged.insert(id);
    }
  });
  const AtEnd stop([&] { refused = true; });
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 10; }));
  ASSERT_TRUE(eventually([&] { return count("ready WHERE status = 'due'") > 10; }));
  become_too_new();
  ASSERT_TRUE(eventually([&] { return refused.load(); }));
  HttpClient other(host().port());
  const auto ready = other.get("/readyz"),
             posted = other.request("POST", "/v1/intents", sms_intent("late", "sms.patient").dump());
  EXPECT_EQ(ready.status, 503);
  EXPECT_NE(ready.body.find("9999"), std::string::npos) << ready.body;
  EXPECT_EQ(posted.status, 503) << posted.body;
  EXPECT_EQ(other.get("/healthz").status, 200);
  EXPECT_TRUE(host().running()) << "it waits for what is out";
  EXPECT_EQ(count("hosts"), 1) << "and nobody takes that from it";
  gateway.by_default(Reply::accept());
  gateway.release();
  EXPECT_EQ(host().wait(), 1);
  EXPECT_NE(host().log().find("host.outdated"), std::string::npos);
  EXPECT_NE(host().log().find("newer waybill"), std::string::npos);
  EXPECT_EQ(gateway.count(), 10u) << "nothing was begun";
  EXPECT_EQ(count("submission_states WHERE state = 'accepted'"), 10);
  EXPECT_EQ(count("ready WHERE status = 'claimed'"), 0);
  EXPECT_EQ(count("hosts"), 0);
  EXPECT_EQ(installation().command({"serve"}).exit_code, 1) << "nor does it start";

  go_back();
  load = {};
  restart_host();
  ASSERT_TRUE(eventually([&] { return count("submission_states WHERE completed_at IS NULL") == 0; }));
  for (const auto& id : acknowledged) EXPECT_EQ(gateway.count(id), 1u) << id;
  EXPECT_EQ(count("submission_states WHERE state = 'accepted'"), static_cast<std::int64_t>(gateway.counts().size()));
}

// E2
TEST_F(Upgrade, AHostGoesOnBesideANewerSchemaThatSaysItMay) {
  client();
  sql().execute(
      "INSERT INTO waybill.schema_migrations (version, name, runs_beside)"
      " SELECT 9999, '9999_later', max(version) FROM waybill.schema_migrations");
  for (int i = 0; i < 20; ++i) post_intent(client(), sms_intent("b-" + std::to_string(i), "sms.deadline"), 30);
  EXPECT_EQ(count("submission_states WHERE state = 'accepted'"), 20);
  EXPECT_EQ(installation().command({"explain", "b-1"}).exit_code, 0);
  host().terminate();
  restart_host();
  EXPECT_EQ(post_intent(client(), sms_intent("after", "sms.deadline"), 30).status, 200);
}

// E2
TEST_F(Upgrade, NoCommandActsOnASchemaThatIsTooNewOrTooOld) {
  const std::vector<std::vector<std::string>> commands{{"token", "create", "--name", "shop"},
                                                       {"token", "revoke", "shop"},
                                                       {"token", "list"},
                                                       {"roles"},
                                                       {"reload"},
                                                       {"explain", "x"},
                                                       {"dead", "list"},
                                                       {"dead", "show", "1"},
                                                       {"dead", "edit", "1", "--destination", "x"},
                                                       {"dead", "replay", "--all"},
                                                       {"dead", "clone", "1", "other"}};
  const auto all_refuse = [&](const std::string& word) {
    for (const auto& command : commands) {
      const auto result = installation().command(command);
      EXPECT_EQ(result.exit_code, 1) << command[0];
      EXPECT_NE(result.err.find(word), std::string::npos) << command[0] << " " << command[1] << ": " << result.err;
    }
  };
  become_too_new();
  all_refuse("newer waybill");
  go_back();
  sql().execute("DELETE FROM waybill.schema_migrations WHERE version = (SELECT max(version) FROM waybill.schema_migrations)");
  all_refuse("waybill migrate");
  EXPECT_EQ(count("api_tokens"), 0);
}

// O6: the plan changes nothing, and tells what a run would do
TEST_F(Upgrade, APlanTellsStepsLocksAndTheHostsThatStandInTheWay) {
  client();
  const std::string newest = sql().text("SELECT name FROM waybill.schema_migrations ORDER BY version DESC LIMIT 1");
  const auto nothing = installation().command({"migrate", "--plan"});
  EXPECT_EQ(nothing.exit_code, 0) << nothing.err;
  EXPECT_NE(nothing.out.find("nothing to do"), std::string::npos) << nothing.out;

  sql().execute("DELETE FROM waybill.schema_migrations WHERE name = '" + newest + "'");
  const auto plan = installation().command({"migrate", "--plan"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_NE(plan.out.find(newest + ": hosts go on\n  locks: "), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find("ACCESS EXCLUSIVE on submissions, for a moment; a moment"), std::string::npos) << plan.out;

  sql().execute("UPDATE waybill.hosts SET knows = 26");
  const auto stands = installation().command({"migrate", "--plan"});
  EXPECT_EQ(stands.exit_code, 3) << stands.err;
  EXPECT_NE(stands.out.find("in the way: " + sql().text("SELECT name FROM waybill.hosts") + " (version 26): stop it"),
            std::string::npos)
      << stands.out;
  EXPECT_EQ(count("schema_migrations WHERE name = '" + newest + "'"), 0);
  EXPECT_EQ(installation().command({"migrate"}).exit_code, 1) << "as the plan says";
}

// O1: what is older than the first schema goes by way of the last version before 1.0
TEST_F(Upgrade, ADatabaseOfBeforeTheFirstSchemaIsRefusedWithTheStepThatLeadsThere) {
  sql().execute(
      "DELETE FROM waybill.schema_migrations; INSERT INTO waybill.schema_migrations (version, name) VALUES (54, "
      "'0054_target_outages')");
  for (const auto& command :
       std::vector<std::vector<std::string>>{{"migrate"}, {"migrate", "--plan"}, {"serve"}, {"dead", "list"}}) {
    const auto refused = installation().command(command);
    EXPECT_EQ(refused.exit_code, 1) << command[0];
    EXPECT_NE(
        refused.err.find("is at version 54, and this program leads on from version 55: run `waybill migrate` of the last version "
                         "before 1.0 first (docs/operations/upgrading.md"),
        std::string::npos)
        << command[0] << ": " << refused.err;
  }
  EXPECT_EQ(count("schema_migrations"), 1);
}

// I6
TEST_F(Upgrade, PluginsOfOthersStayInTheHostUntilTheOperatorSaysWhereTheyRun) {
  setup.plugin_isolation = "";
  setup.registry = registry_of({target("mine", "good", gateway.url() + "/mine", "one_shot", 0, {"invalid_request"})});
  installation().add_plugin(bad_plugin("good"));
  sql().execute("INSERT INTO waybill.kept_defaults (name, value) VALUES ('plugin_isolation', 'in_process')");
  EXPECT_EQ(post_intent(client(), intent("a", "mine", {{"n", 1}}), 30).json()["status"], "accepted");
  EXPECT_TRUE(host().wait_for_log("plugin.isolation_kept"));
  EXPECT_TRUE(host().wait_for_log(R"("why":"it does not come with Waybill")"));
  EXPECT_EQ(children_of(host().pid()).size(), 0u) << "no process of a plugin's own";
  const auto checked = installation().command({"check"});
  EXPECT_NE(checked.out.find("good.so"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("where hosts of an earlier version ran, it stays in the host until plugin_isolation is set"),
            std::string::npos)
      << checked.out;

  write_file(installation().config(), read_file(installation().config()) + "plugin_isolation: process\n");
  host().terminate();
  restart_host();
  EXPECT_EQ(post_intent(client(), intent("b", "mine", {{"n", 1}}), 30).json()["status"], "accepted");
  EXPECT_GE(children_of(host().pid()).size(), 1u);
  EXPECT_EQ(host().log().find("plugin.isolation_kept"), std::string::npos);
}

// I6
TEST_F(Upgrade, OnANewInstallationPluginsOfOthersHaveAProcess) {
  setup.plugin_isolation = "";
  setup.registry = registry_of({target("mine", "good", gateway.url() + "/mine", "one_shot", 0, {"invalid_request"})});
  installation().add_plugin(bad_plugin("good"));
  EXPECT_EQ(post_intent(client(), intent("a", "mine", {{"n", 1}}), 30).json()["status"], "accepted");
  EXPECT_GE(children_of(host().pid()).size(), 1u);
  const auto checked = nlohmann::json::parse(installation().command({"check", "--json"}).out);
  for (const auto& plugin : checked.at("plugins"))
    EXPECT_EQ(plugin.at("isolation"), plugin.at("file") == "good.so" ? "process" : "in_process") << plugin;
}

}  // namespace
}  // namespace waybill::testing
