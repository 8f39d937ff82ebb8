// The schema comes from nothing, once, whoever begins, and never goes back.  M12 M18 O1
#include "store/pg/migrations.h"

#include <gtest/gtest.h>

#include <thread>

#include "store/pg/migration_plan.h"
#include "store/pg_stores.h"
#include "support/postgres_cluster.h"
#include "support/sql_client.h"

namespace waybill::testing {
namespace {

class Migrating : public ::testing::Test {
 protected:
  const std::string url = cluster().create_database();
  const DatabaseAddress address{url, "waybill"};
  SqlClient sql{url};
};

TEST_F(Migrating, AnEmptyDatabaseGetsEveryMigrationAndASecondRunNothing) {
  const auto before = schema_state(address);
  ASSERT_TRUE(before) << before.error().what;
  EXPECT_EQ(before->database, 0);
  const auto first = migrate(address);
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ(first->size(), migrations().size());
  EXPECT_EQ(first->front(), "0055_first");
  const auto second = migrate(address);
  ASSERT_TRUE(second) << second.error().what;
  EXPECT_TRUE(second->empty());
  const auto after = schema_state(address);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->database, after->program);
  EXPECT_EQ(sql.number("SELECT count(*) FROM waybill.schema_migrations"), static_cast<std::int64_t>(migrations().size()));
  EXPECT_FALSE(*keeps_plugins_in_host(address)) << "nothing ran before";  // I6
}

// As the last version before 1.0 left it: the same tables, and a row for each of its migrations.
TEST_F(Migrating, ADatabaseOfBeforeOneGoesOnBehindTheFirstSchema) {  // O1
  ASSERT_TRUE(migrate(address, {}, {migrations().front()}));
  sql.execute(
      "INSERT INTO waybill.schema_migrations (version, name, runs_beside)"
      " SELECT n, to_char(n, 'FM0000') || '_before', CASE WHEN n > 13 THEN least(n, 27) END FROM generate_series(1, 54) n;"
      " UPDATE waybill.schema_migrations SET name = '0055_kept_defaults' WHERE version = 55; DROP TABLE "
      "waybill.migration_progress");
  const auto applied = migrate(address);
  ASSERT_TRUE(applied) << applied.error().what;
  EXPECT_EQ(applied->size(), migrations().size() - 1);
  EXPECT_EQ(applied->front(), "0056_traces");
  EXPECT_TRUE(migrate(address)->empty());
  EXPECT_EQ(schema_state(address)->needs, 27);
}

TEST_F(Migrating, ADatabaseOfBeforeTheFirstSchemaIsToldWhatToDo) {  // O1
  ASSERT_TRUE(migrate(address));
  sql.execute("DELETE FROM waybill.schema_migrations; INSERT INTO waybill.schema_migrations (version, name) VALUES (54, '0054')");
  const auto migrated = migrate(address);
  const auto plan = plan_migrations(address);
  ASSERT_FALSE(migrated);
  ASSERT_FALSE(plan);
  const auto fit = refuse_unfit(*schema_state(address));
  ASSERT_FALSE(fit);
  for (const auto& error : {migrated.error(), plan.error(), fit.error()}) {
    EXPECT_EQ(error.kind, Error::Kind::invalid);
    EXPECT_NE(error.what.find("is at version 54, and this program leads on from version 55"), std::string::npos) << error.what;
    EXPECT_NE(error.what.find("docs/operations/upgrading.md"), std::string::npos) << error.what;
  }
  EXPECT_EQ(sql.number("SELECT count(*) FROM waybill.schema_migrations"), 1);
}

TEST_F(Migrating, SeveralHostsThatStartAtOnceApplyEachMigrationOnce) {  // M18
  std::vector<Result<std::vector<std::string>>> done(4, fail(Error::Kind::bug, "not run"));
  {
    std::vector<std::jthread> hosts;
    for (auto& one : done) hosts.emplace_back([&one, this] { one = migrate(address); });
  }
  std::size_t applied = 0;
  for (const auto& one : done) {
    ASSERT_TRUE(one) << one.error().what;
    applied += one->size();
  }
  EXPECT_EQ(applied, migrations().size());
}

TEST_F(Migrating, ADatabaseThatIsNewerThanTheProgramIsRefused) {
  ASSERT_TRUE(migrate(address));
  sql.execute("INSERT INTO waybill.schema_migrations (version, name) VALUES (9999, '9999_later')");
  const auto migrated = migrate(address);
  const auto state = schema_state(address);
  ASSERT_FALSE(migrated);
  ASSERT_FALSE(state);
  for (const auto& error : {migrated.error(), state.error()}) {
    EXPECT_EQ(error.kind, Error::Kind::invalid);
    EXPECT_NE(error.what.find("9999"), std::string::npos) << error.what;
    EXPECT_NE(error.what.find("newer waybill"), std::string::npos) << error.what;
  }
}

TEST_F(Migrating, ASchemaMayHaveAnyNameAndTwoLiveSideBySide) {
  const DatabaseAddress odd{url, "it's \"odd\""};
  ASSERT_TRUE(migrate(address));
  const auto applied = migrate(odd);
  ASSERT_TRUE(applied) << applied.error().what;
  EXPECT_EQ(applied->size(), migrations().size());
  EXPECT_EQ(sql.number("SELECT count(*) FROM pg_tables WHERE tablename = 'submissions'"), 2);
  // A function that runs with its owner's rights sees the schema that it is in, and no other.
  EXPECT_EQ(sql.number("SELECT count(DISTINCT pronamespace) FROM pg_proc WHERE prosecdef AND proname = 'archive_submissions'"),
            2);
  EXPECT_EQ(sql.text("SELECT coalesce(string_agg(p.oid::regprocedure::text, ' '), '') FROM pg_proc p JOIN pg_namespace n"
                     " ON n.oid = p.pronamespace WHERE n.nspname IN ('waybill', 'it''s \"odd\"')"
                     " AND (prosecdef OR proconfig::text LIKE '%search_path%') AND NOT"
                     " format('search_path=%I, pg_temp', n.nspname) = ANY (coalesce(proconfig, '{}'))"),
            "");
}

// ---- functions ----

SqlFunctions saying(const std::string& words) {
  return {"CREATE OR REPLACE FUNCTION said() RETURNS text LANGUAGE sql AS $$ SELECT '" + words + "' $$;", words};
}

TEST_F(Migrating, FunctionsAreAppliedWhenTheirTextHasChangedAndNotOtherwise) {
  const std::string rows =
      "SELECT string_agg(xmin::text, ' ' ORDER BY oid) FROM pg_proc WHERE pronamespace = 'waybill'::regnamespace";
  ASSERT_TRUE(migrate(address));
  const auto first = sql.text(rows);
  ASSERT_TRUE(migrate(address));
  EXPECT_EQ(sql.text(rows), first) << "nothing is written when nothing has changed";
  ASSERT_TRUE(migrate(address, {}, migrations(), saying("one")));
  EXPECT_EQ(sql.text("SELECT waybill.said()"), "one");
  ASSERT_TRUE(migrate(address, {}, migrations(), saying("two")));
  EXPECT_EQ(sql.text("SELECT waybill.said()"), "two");
  ASSERT_TRUE(migrate(address));
  EXPECT_NE(sql.text(rows), first) << "the texts of this program are there again";
  EXPECT_EQ(sql.text("SELECT hash FROM waybill.schema_functions"), embedded_functions().hash);
}

TEST_F(Migrating, AnOlderProgramLeavesTheFunctionsOfANewerOneAlone) {
  ASSERT_TRUE(migrate(address, {}, migrations(), saying("new")));
  auto known = migrations();
  known.pop_back();
  ASSERT_TRUE(migrate(address, {}, known, saying("old")));
  EXPECT_EQ(sql.text("SELECT waybill.said()"), "new");
}

TEST_F(Migrating, FunctionsThatCannotBeAppliedChangeNothing) {
  ASSERT_TRUE(migrate(address, {}, migrations(), saying("good")));
  auto broken = saying("bad");
  broken.sql += "CREATE OR REPLACE FUNCTION said() RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$;";
  const auto done = migrate(address, {}, migrations(), broken);
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().what.starts_with("schema/functions: ")) << done.error().what;
  EXPECT_EQ(sql.text("SELECT waybill.said()"), "good");
}

// An older program of the same version would take a change back: so each change has a migration, which states the hash of what it
// brings.
TEST_F(Migrating, TheNewestMigrationThatBringsFunctionsStatesTheirHash) {
  constexpr std::string_view kMark = "-- Functions: ";
  std::string stated = "none";
  for (const auto& migration : migrations())
    if (const auto at = migration.sql.find(kMark); at != std::string_view::npos)
      stated = migration.sql.substr(at + kMark.size(), migration.sql.find('\n', at) - at - kMark.size());
  EXPECT_EQ(stated, embedded_functions().hash)
      << "schema/functions has changed: add a migration with the line " << kMark << embedded_functions().hash;
}

// Each function that the schema has stands in the file of its name.
TEST_F(Migrating, EveryFunctionHasItsFile) {
  ASSERT_TRUE(migrate(address));
  const auto all = embedded_functions().sql;
  std::size_t seen = 0;
  for (const auto& row : sql.rows("SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'waybill'::regnamespace")) {
    ++seen;
    EXPECT_NE(all.find("CREATE OR REPLACE FUNCTION " + *row[0] + "("), std::string::npos) << *row[0];
  }
  EXPECT_GT(seen, 30u);
}

TEST_F(Migrating, ADatabaseThatIsAwayIsUnavailable) {
  const auto done = migrate({"postgresql://nobody@/nowhere?host=/nonexistent", "waybill"});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, Error::Kind::unavailable);
}

}  // namespace
}  // namespace waybill::testing
