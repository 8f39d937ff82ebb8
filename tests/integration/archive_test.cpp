// The archive of a running host, and the commands that read it; under the schema's standard name and another.  J7
#include <gtest/gtest.h>

#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class ArchiveProgram : public World {
 protected:
  // A pipeline's submission, as its machine writes it, that ended so long ago.
  void write_submission(const std::string& schema, const std::string& client_ref, const std::string& age) {
    sql().execute("SET search_path TO " + schema);
    sql().execute(
        "INSERT INTO pipeline_versions (pipeline, number, hash, definition) VALUES ('mail', 1, 'h', '{}') ON CONFLICT DO "
        "NOTHING");
    const auto id = sql().text("SELECT nextval('object_ids') * 1024");
    sql().execute(
        "INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body) "
        "VALUES (0, " +
        id + ", 1, 'pipeline', '" + client_ref + "', 'mail', 'mail', 'sent', '', now(), '{\"answer\": 42}')");
    sql().execute(
        "INSERT INTO pipeline_submissions (shard, submission_id, org_id, version_id, pipeline, state, step, routes, metadata, "
        "reference, "
        "created_at, ended_at) VALUES (0, " +
        id + ", 1, 1, 'mail', 'sent', 1, '{}', '{\"reference\": \"B-1\"}', 'B-1', now(), now() - interval '" + age + "')");
  }
  json listed(const std::map<std::string, std::string>& environment = {}) {
    return json::parse(installation().command({"archive", "list", "--json"}, environment).out).at("submissions");
  }
};

TEST_F(ArchiveProgram, AHostArchivesWhatIsOldAndTheCommandsShowIt) {
  write_submission("waybill", "k-1", "31 days");
  write_submission("waybill", "k-2", "1 day");
  host();
  ASSERT_TRUE(eventually([&] { return listed().size() == 1; })) << host().log();
  EXPECT_EQ(listed()[0]["submissionId"], "k-1");
  EXPECT_EQ(listed()[0]["reference"], "B-1");
  EXPECT_EQ(sql().text("SELECT string_agg(client_ref, ' ') FROM waybill.submissions"), "k-2");
  const auto shown = installation().command({"archive", "show", "k-1"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(json::parse(shown.out)["payload"], (json{{"answer", 42}}));
  const auto as_data = json::parse(installation().command({"archive", "show", "k-1", "--json"}).out);
  EXPECT_EQ(as_data["submissions"].at(0)["payload"], (json{{"answer", 42}}));
  EXPECT_NE(installation().command({"archive", "list", "--reference", "B-1"}).out.find("k-1"), std::string::npos);
  EXPECT_EQ(installation().command({"archive", "list", "--state", "failed"}).out, "");
  const auto none = installation().command({"archive", "show", "k-2"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_NE(none.err.find("no archived submission \"k-2\""), std::string::npos) << none.err;
}

TEST_F(ArchiveProgram, AnotherSchemaHasItsOwn) {
  const std::map<std::string, std::string> queue{{"WAYBILL_DATABASE_SCHEMA", "queue"}};
  ASSERT_EQ(installation().command({"migrate"}, queue).exit_code, 0);
  write_submission("queue", "k-1", "31 days");
  EXPECT_EQ(
      sql().number(
          "SELECT queue.archive_submissions(0::smallint, ARRAY(SELECT id FROM queue.submissions), interval '30 days', NULL)"),
      1);
  EXPECT_EQ(listed(queue).size(), 1u);
  EXPECT_EQ(listed(), json::array());
  EXPECT_EQ(installation().command({"failures", "list"}, queue).exit_code, 0);
}

}  // namespace
}  // namespace waybill::testing
