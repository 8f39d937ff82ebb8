// docs/operations/database.md and sizing.md against a real database: their SQL runs, their alarm rings, their settings are the
// tables'.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "docs/snippets.h"
#include "support/daemon.h"
#include "support/postgres_cluster.h"
#include "support/sql_client.h"

namespace waybill::testing {
namespace {

const std::filesystem::path kPages[] = {"docs/operations/database.md", "docs/operations/sizing.md"};

std::vector<std::string> sql_blocks(const std::filesystem::path& page) {
  std::vector<std::string> blocks;
  for (const auto& snippet : snippets_of(source_folder() / page))
    if (snippet.language == "sql") blocks.push_back(snippet.text);
  return blocks;
}

// Each by itself, as psql sends them: some are refused in a transaction with others. No literal of the pages has a semicolon.
std::vector<std::string> statements_of(const std::string& block) {
  std::vector<std::string> statements;
  std::istringstream text(block);
  for (std::string statement; std::getline(text, statement, ';');)
    if (statement.find_first_not_of(" \n") != std::string::npos) statements.push_back(statement);
  return statements;
}

// What the pages take for granted: the tables, a month of the past, somebody who reads.
std::string migrated_database() {
  const auto url = cluster().create_database();
  const auto made = Installation({.database_url = url, .registry = R"({"targets": []})"}).command({"migrate"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  cluster().create_role("ann");
  SqlClient sql(url);
  for (const char* log : {"attempts", "audit_log"})
    sql.execute(std::string("CREATE TABLE IF NOT EXISTS waybill.") + log + "_2026_01 PARTITION OF waybill." + log +
                " FOR VALUES FROM ('2026-01-01 00:00:00Z') TO ('2026-02-01 00:00:00Z')");
  return url;
}

// F15
TEST(DatabasePages, EveryStatementRuns) {
  std::size_t seen = 0;
  for (const auto& page : kPages) {
    SqlClient sql(migrated_database());
    for (const auto& block : sql_blocks(page))
      for (const auto& statement : statements_of(block)) {
        ++seen;
        EXPECT_NO_THROW(sql.rows(statement)) << page << ":\n" << statement;
      }
  }
  EXPECT_GT(seen, 15u);
}

// F15
TEST(DatabasePages, AnOldMonthIsGoneAfterItsSteps) {
  SqlClient sql(migrated_database());
  const std::string months = "SELECT count(*) FROM pg_class WHERE relname IN ('attempts_2026_01', 'audit_log_2026_01')";
  ASSERT_EQ(sql.number(months), 2);
  for (const auto& block : sql_blocks(kPages[0]))
    if (block.find("_2026_01") != std::string::npos)
      for (const auto& statement : statements_of(block)) sql.rows(statement);
  EXPECT_EQ(sql.number(months), 0);
}

// F15
TEST(DatabasePages, TheAlarmShowsWhoHoldsAnOldSnapshot) {
  const auto url = migrated_database();
  std::string alarm;
  for (const auto& block : sql_blocks(kPages[0]))
    if (block.find("backend_xmin") != std::string::npos) alarm = statements_of(block).front();
  SqlClient watcher(url), reporter(url);
  const auto quiet = watcher.rows(alarm);
  EXPECT_TRUE(quiet.empty());

  const std::string limit = "10 minutes";
  for (auto at = alarm.find(limit); at != std::string::npos; at = alarm.find(limit)) alarm.replace(at, limit.size(), "0 s");
  EXPECT_TRUE(watcher.rows(alarm).empty());
  reporter.execute("BEGIN ISOLATION LEVEL REPEATABLE READ");
  const auto pid = reporter.text("SELECT pg_backend_pid()");
  const auto held = watcher.rows(alarm);
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0][0], "session " + pid);
}

// F15
TEST(DatabasePages, TheSettingsTheyNameAreThoseOfTheTables) {
  struct Named {
    std::string words, table, setting;
  };
  const Named named[] = {
      {"| `ready` | vacuum after 5,000 dead rows, however large it is; no pauses |", "ready", "autovacuum_vacuum_threshold=5000"},
      {"| `ready` | vacuum after 5,000 dead rows, however large it is; no pauses |", "ready",
       "autovacuum_vacuum_scale_factor=0.0"},
      {"| `ready` | vacuum after 5,000 dead rows, however large it is; no pauses |", "ready", "autovacuum_vacuum_cost_delay=0"},
      {"| `ready` | `fillfactor` 45 |", "ready", "fillfactor=45"},
      {"| `claims` | vacuum after 1,000 dead rows, no pauses |", "claims", "autovacuum_vacuum_threshold=1000"},
      {"| `deliveries` | `fillfactor` 90 |", "deliveries", "fillfactor=90"},
      {"| `submissions` | `fillfactor` 90 |", "submissions", "fillfactor=90"},
  };
  const auto page = text_of(source_folder() / kPages[0]);
  SqlClient sql(migrated_database());
  for (const auto& [words, table, setting] : named) {
    EXPECT_NE(page.find(words), std::string::npos) << words;
    EXPECT_EQ(sql.text("SELECT '" + setting + "' = ANY (reloptions) FROM pg_class WHERE oid = 'waybill." + table + "'::regclass"),
              "t")
        << table << " has not " << setting;
  }
}

}  // namespace
}  // namespace waybill::testing
