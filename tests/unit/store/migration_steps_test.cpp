// Where a migration's statements end, and what each of them locks.  O6
#include "store/pg/migration_steps.h"

#include <gtest/gtest.h>

#include "store/pg/schema_version.h"

namespace waybill {
namespace {

using Kind = MigrationStep::Kind;

std::vector<std::string> texts_of(std::string_view sql) {
  std::vector<std::string> texts;
  for (const auto& step : steps_of(sql)) texts.push_back(step.sql);
  return texts;
}

MigrationStep only_step(std::string_view sql) {
  const auto steps = steps_of(sql);
  EXPECT_EQ(steps.size(), 1u) << sql;
  return steps.empty() ? MigrationStep{} : steps[0];
}

TEST(MigrationSteps, EndAtSemicolonsOutsideOfQuotesAndComments) {
  EXPECT_EQ(
      texts_of("-- Runs beside: 27; 28\n\nSELECT 1;\n/* a; b */ SELECT ';', \"a;b\", 'it''s;'; -- c;\nDO $$ BEGIN x; END $$;\n"
               "DO $one$ SELECT $$;$$; $one$\n"),
      (std::vector<std::string>{"SELECT 1", "SELECT ';', \"a;b\", 'it''s;'", "DO $$ BEGIN x; END $$",
                                "DO $one$ SELECT $$;$$; $one$"}));
  EXPECT_EQ(texts_of("SELECT 1 -- not;\n + 1"), std::vector<std::string>{"SELECT 1 -- not;\n + 1"});
  EXPECT_TRUE(steps_of("-- nothing\n;;\n").empty());
}

TEST(MigrationSteps, BetweenBeginAndCommitAreOne) {
  const auto steps = steps_of("SELECT 1; BEGIN; SELECT 2; SELECT 3; COMMIT; SELECT 4");
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[1].sql, "SELECT 2;\nSELECT 3");
  EXPECT_EQ(steps[2].sql, "SELECT 4");
  const auto grouped = steps_of("BEGIN; ALTER TABLE a ADD b integer; UPDATE a SET b = 1; COMMIT;");
  ASSERT_EQ(grouped.size(), 1u);
  EXPECT_EQ(grouped[0].lock, "") << "of several statements none tells the lock";
}

TEST(MigrationSteps, OfAnIndexThatIsMadeBesideOthersIsInNoTransaction) {
  const auto step = only_step("CREATE INDEX CONCURRENTLY IF NOT EXISTS some_of\n  ON ready (id) WHERE x = ' ON y ';");
  EXPECT_EQ(step.kind, Kind::index);
  EXPECT_EQ(step.index, "some_of");
  EXPECT_EQ(step.table, "ready");
  EXPECT_EQ(step.lock, "SHARE UPDATE EXCLUSIVE");
  EXPECT_EQ(only_step("CREATE UNIQUE INDEX CONCURRENTLY one ON ready (id)").index, "one");
  EXPECT_EQ(only_step("CREATE INDEX one ON ready (id)").kind, Kind::transaction);
}

TEST(MigrationSteps, SayTheirLocks) {
  const auto lock = [](std::string_view sql) {
    const auto step = only_step(sql);
    return step.lock + " " + step.table;
  };
  EXPECT_EQ(lock("ALTER TABLE IF EXISTS ONLY ready ADD COLUMN b text"), "ACCESS EXCLUSIVE ready");
  EXPECT_EQ(lock("CREATE OR REPLACE VIEW states WITH (security_invoker = true) AS SELECT 1"), "ACCESS EXCLUSIVE states");
  EXPECT_EQ(lock("CREATE TRIGGER one BEFORE INSERT ON hosts FOR EACH ROW EXECUTE FUNCTION refuse('a')"),
            "SHARE ROW EXCLUSIVE hosts");
  EXPECT_EQ(lock("CREATE UNIQUE INDEX one ON ready (id)"), "SHARE ready");
  EXPECT_EQ(lock("UPDATE access_rules SET tenant = 'x'"), "ROW EXCLUSIVE access_rules");
  EXPECT_EQ(lock("CREATE TABLE later (n integer)"), " ");
  EXPECT_EQ(lock("DO $$ BEGIN END $$"), " ");
}

TEST(MigrationSteps, BelowTheWordAreRepeatedInBatches) {
  const auto steps =
      steps_of("SELECT 1;\n-- Batches of a thousand.\nUPDATE a SET b = 1 WHERE id > :cursor;\nUPDATE c SET d = 1;");
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[1].kind, Kind::batches);
  EXPECT_EQ(steps[2].kind, Kind::transaction);
}

TEST(MigrationSteps, TellWhatTheAuthorSaysOfLocks) {
  EXPECT_EQ(locks_said("-- Runs beside: 1\n--\n-- Locks: `a`, for a moment;\n-- and `b`.\n--\n-- More.\nSELECT 1"),
            "`a`, for a moment; and `b`.");
  EXPECT_EQ(locks_said("-- Locks: none.\n\nSELECT 1"), "none.");
  EXPECT_EQ(locks_said("SELECT 1"), "");
}

// No lock that others wait for is held while rows are walked: of what is applied beside running hosts.
TEST(TheMigrations, WalkNoRowsUnderAStrongLock) {
  const auto all = migrations();
  for (const auto& migration : all) {
    EXPECT_NE(locks_said(migration.sql), "") << migration.name;
    if (migration.version == all.front().version) continue;
    for (const auto& step : steps_of(migration.sql)) {
      const bool is_new = migration.sql.find("CREATE TABLE " + step.table + " ") != std::string_view::npos;
      EXPECT_TRUE(is_new || step.lock != "SHARE") << migration.name << ": write CONCURRENTLY: " << step.sql;
      for (const auto* walk : {" SET NOT NULL", " TYPE ", " VALIDATE ", " ADD PRIMARY KEY", " ADD UNIQUE", " ADD FOREIGN KEY",
                               " ADD CHECK", " ADD CONSTRAINT"})
        EXPECT_TRUE(is_new || step.lock != "ACCESS EXCLUSIVE" || step.sql.find(walk) == std::string::npos ||
                    step.sql.find("NOT VALID") != std::string::npos)
            << migration.name << ": it reads every row under its lock: " << step.sql;
    }
  }
}

}  // namespace
}  // namespace waybill
