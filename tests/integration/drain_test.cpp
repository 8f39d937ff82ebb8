// Jobs of a real pg-boss, of an old and a newer version, are handed in once.  J7
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "support/temp_folder.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

// A folder with pg-boss in it.
const std::filesystem::path* pgboss_folder() {
  static const TempFolder folder;
  static const bool is_installed = [] {
    for (const auto* file : {"package.json", "package-lock.json", "make_jobs.mjs"})
      std::filesystem::copy_file(std::filesystem::path(WAYBILL_SOURCE_FOLDER) / "tests/integration/pgboss" / file,
                                 folder.path() / file);
    return std::system(
               ("cd '" + folder.path().string() + "' && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error 2>&1")
                   .c_str()) == 0;
  }();
  return is_installed ? &folder.path() : nullptr;
}

class Drain : public World, public ::testing::WithParamInterface<std::string> {
 protected:
  Drain() {
    setup.registry = registry_of({target("notify.send", "webhook", gateway.url() + "/hook", "max_attempts", 3, {"gone"}),
                                  target("SES_SEND", "webhook", gateway.url() + "/hook", "max_attempts", 3, {"gone"})});
  }
  // In the database of this test, or another.
  json make_jobs(const std::string& url) {
    const auto* folder = pgboss_folder();
    if (folder == nullptr) return {};
    const auto made =
        run({.arguments = {"/usr/bin/env", "node", "make_jobs.mjs", GetParam(), url, "old_queue"}, .folder = *folder});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return json::parse(made.out, nullptr, false);
  }
  CommandResult drain(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"drain", "--from-pgboss", "old_queue"});
    return installation().command(std::move(arguments));
  }
  static json queue_of(const CommandResult& drained, const std::string& name) {
    const auto answer = json::parse(drained.out);
    for (const auto& one : answer.at("queues"))
      if (one["queue"] == name) return one;
    return {};
  }
  std::int64_t intents() { return sql().number("SELECT count(*) FROM waybill.submissions"); }
  static std::string state_of(SqlClient& source, const std::string& id) {
    return source.text("SELECT state::text FROM old_queue.job WHERE id = '" + id + "'");
  }
  bool skipped(const json& made) {
    if (!made.is_null()) return false;
    EXPECT_FALSE(must_run()) << "npm cannot install the package pg-boss";
    return true;
  }
};

TEST_P(Drain, WhatWaitsIsHandedInOnceAndTheRestIsLeftAlone) {
  const auto made = make_jobs(setup.database_url);
  if (skipped(made)) GTEST_SKIP() << "npm cannot install the package pg-boss";
  const auto dry = drain({"--map", "NOTIFY_SEND=notify.send", "--dry-run", "--json"});
  EXPECT_EQ(dry.exit_code, 3) << dry.err;
  EXPECT_EQ(queue_of(dry, "NOTIFY_SEND")["waiting"], 8) << dry.out;
  EXPECT_EQ(intents(), 0);

  const auto drained = drain({"--map", "NOTIFY_SEND=notify.send", "--batch", "3", "--json"});
  EXPECT_EQ(drained.exit_code, 3) << "something is left: " << drained.err;
  EXPECT_EQ(queue_of(drained, "NOTIFY_SEND"), (json{{"queue", "NOTIFY_SEND"},
                                                    {"target", "notify.send"},
                                                    {"waiting", 8},
                                                    {"later", 1},
                                                    {"handedIn", 8},
                                                    {"refused", json::array()}}));
  EXPECT_EQ(queue_of(drained, "SES_SEND")["handedIn"], 1) << "a target has the queue's name";
  EXPECT_EQ(queue_of(drained, "UNKNOWN")["target"], nullptr);
  EXPECT_EQ(drained.err.find("handed in"), std::string::npos) << "progress is for terminals: " << drained.err;
  EXPECT_EQ(intents(), 9);
  for (const auto* name : {"active", "completed", "later", "unknown"})
    EXPECT_EQ(state_of(sql(), made[name]), name == std::string("later") || name == std::string("unknown") ? "created" : name);
  const std::string retry = made["retry"];
  EXPECT_EQ(state_of(sql(), retry), "completed");
  EXPECT_EQ(json::parse(sql().text("SELECT output::text FROM old_queue.job WHERE id = '" + retry + "'")),
            (json{{"waybill", "pgboss-" + retry}}));

  const auto again = drain({"--map", "NOTIFY_SEND=notify.send"});
  EXPECT_NE(again.out.find("NOTIFY_SEND: 0 handed in for notify.send; 1 are for later and stay"), std::string::npos) << again.out;
  EXPECT_NE(again.out.find("UNKNOWN: 1 left alone"), std::string::npos) << again.out;
  EXPECT_EQ(intents(), 9);

  EXPECT_EQ(wait_for_end(client(), "pgboss-" + retry)["status"], "accepted");
  const auto sent = gateway.received("pgboss-" + retry);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_NE(sent[0].body.find("B-1"), std::string::npos) << "the job's data is what is sent: " << sent[0].body;
}

// J6 J7: into a pipeline, with the job's reference.
TEST_P(Drain, JobsBecomeSubmissionsOfAPipeline) {
  setup.pipelines["notify_send.json"] =
      read_file(std::filesystem::path(WAYBILL_SOURCE_FOLDER) / "registry/staged-jobs/pipelines/notify_send.json");
  const auto made = make_jobs(setup.database_url);
  if (skipped(made)) GTEST_SKIP() << "npm cannot install the package pg-boss";
  for (const int taken : {8, 0})
    EXPECT_EQ(queue_of(drain({"--map", "NOTIFY_SEND=notify_send", "--json"}), "NOTIFY_SEND")["handedIn"], taken);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.pipeline_submissions"), 8);
  const auto id = "pgboss-" + word(made, "retry");
  ASSERT_TRUE(eventually([&] { return word(client().get("/v1/submissions/" + id).json(), "state") == "SENT"; }));
  EXPECT_EQ(client().get("/v1/submissions?reference=B-1").json()["items"][0]["submissionId"], id);
}

// As after a kill between the commit of what was handed in and that of the mark: both databases say so.
TEST_P(Drain, FromAnotherDatabaseAJobThatWasNotMarkedIsNotHandedInAgain) {
  const auto url = cluster().create_database();
  const auto made = make_jobs(url);
  if (skipped(made)) GTEST_SKIP() << "npm cannot install the package pg-boss";
  const std::vector<std::string> arguments{"--from-url", url, "--map", "NOTIFY_SEND=notify.send", "--json"};
  EXPECT_EQ(queue_of(drain(arguments), "NOTIFY_SEND")["handedIn"], 8);
  EXPECT_EQ(intents(), 9);
  SqlClient source(url);
  const std::string retry = made["retry"];
  EXPECT_EQ(state_of(source, retry), "completed");
  source.execute("UPDATE old_queue.job SET state = 'retry' WHERE id = '" + retry + "'");
  source.execute("UPDATE old_queue.job SET state = 'created', data = '{\"other\": 1}' WHERE id = '" +
                 made["ses"].get<std::string>() + "'");
  const auto again = drain(arguments);
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_EQ(state_of(source, retry), "completed");
  EXPECT_EQ(queue_of(again, "SES_SEND")["handedIn"], 0);
  EXPECT_NE(queue_of(again, "SES_SEND")["refused"].dump().find("is there already"), std::string::npos) << again.out;
  EXPECT_EQ(intents(), 9);
}

INSTANTIATE_TEST_SUITE_P(Versions, Drain, ::testing::Values("pg-boss", "pg-boss-9"),
                         [](const auto& version) { return version.param == "pg-boss" ? "Ten" : "Nine"; });

// T8: of jobs as the workers of notarial-api write them.
TEST_F(World, ADrainLosesNoFollowUp) {
  setup.registry = registry_of({target("notify.send", "webhook", gateway.url() + "/notify", "max_attempts", 3, {"gone"}),
                                target("ses.send", "webhook", gateway.url() + "/ses", "max_attempts", 3, {"gone"})});
  for (const char* name : {"ses_send.json", "notify_send.json"})
    setup.pipelines[name] = read_file(std::filesystem::path(WAYBILL_SOURCE_FOLDER) / "registry/staged-jobs/pipelines" / name);
  sql().execute(
      "CREATE SCHEMA boss; CREATE TABLE boss.job (id uuid, name text, data jsonb, state text, start_after timestamptz, "
      "created_on timestamptz, completed_on timestamptz, output jsonb)");
  const auto add = [&](char digit, const json& follow_up) {
    const auto id = std::string(8, digit) + "-0000-4000-8000-000000000000";
    const json data{{"subject", "cni"}, {"body", "<p>x</p>"}, {"reference", "B-1"}, {"onComplete", follow_up}};
    sql().execute("INSERT INTO boss.job VALUES ('" + id + "', 'SES_SEND', '" + data.dump() +
                  "', 'created', now() - interval '1 minute', now())");
    return id;
  };
  const json mail{{"template", "T"}, {"emailAddress", "a@example.org"}, {"options", {{"reference", "B-1"}}}};
  const auto good = add('1', {{"queue", "NOTIFY_SEND"}, {"job", mail}}), plain = add('2', nullptr),
             strange = add('3', {{"queue", "SES_SEND"}, {"job", mail}}), empty = add('4', {{"queue", "NOTIFY_SEND"}});
  const auto state = [&](const std::string& id) { return sql().text("SELECT state FROM boss.job WHERE id = '" + id + "'"); };
  const auto drain = [&](const std::string& map) {
    return installation().command({"drain", "--from-pgboss", "boss", "--map", "SES_SEND=" + map});
  };

  const auto to_target = drain("ses.send");
  EXPECT_EQ(to_target.exit_code, 3) << to_target.err;
  EXPECT_NE(to_target.err.find("which a target does not follow"), std::string::npos) << to_target.err;
  EXPECT_EQ(state(good), "created");
  EXPECT_EQ(state(plain), "completed");

  const auto to_pipeline = drain("ses_send");
  EXPECT_EQ(to_pipeline.exit_code, 3) << to_pipeline.err;
  EXPECT_EQ(state(good), "completed");
  for (const auto& id : {strange, empty}) {
    EXPECT_EQ(state(id), "created");
    EXPECT_NE(to_pipeline.err.find(id + ": pipeline ses_send begins nothing for its onComplete"), std::string::npos)
        << to_pipeline.err;
  }
  const auto follow_up = "pgboss-" + good + "~notify_send~2";
  ASSERT_TRUE(eventually([&] { return word(client().get("/v1/submissions/" + follow_up).json(), "state") == "SENT"; }));
  const auto all = gateway.received();
  const auto sent = std::find_if(all.begin(), all.end(), [](const auto& one) { return one.path == "/notify"; });
  ASSERT_NE(sent, all.end());
  EXPECT_NE(sent->body.find("a@example.org"), std::string::npos) << sent->body;
}

TEST_F(World, ADrainFromNowhereOrToNowhereSaysSo) {
  const auto none = installation().command({"drain", "--from-pgboss", "nothing_here"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_NE(none.err.find("schema \"nothing_here\" has no table of jobs"), std::string::npos) << none.err;
  sql().execute(
      "CREATE SCHEMA boss; CREATE TABLE boss.job (id uuid, name text, data jsonb, state text, start_after timestamptz, "
      "created_on timestamptz, completed_on timestamptz, output jsonb)");
  const auto nowhere = installation().command({"drain", "--from-pgboss", "boss", "--map", "A=sms.nowhere"});
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_NE(nowhere.err.find("neither a pipeline nor a target \"sms.nowhere\""), std::string::npos) << nowhere.err;
  EXPECT_NE(installation().command({"drain", "--from-pgboss", "boss", "--map", "A"}).err.find("is not QUEUE=TARGET"),
            std::string::npos);
  EXPECT_EQ(installation().command({"drain", "--from-pgboss", "boss"}).exit_code, 0);
}

}  // namespace
}  // namespace waybill::testing
