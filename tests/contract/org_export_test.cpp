// An organisation is exported from every table there is, alone, as of one moment, and without secrets.  O7
#include "maintenance/org_export.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/hex.h"
#include "contract/full_tenants_world.h"
#include "domain/idempotency.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

// Columns of bytes that are no secrets. A new one stands here or is left out.
const std::set<std::string> kHarmlessBytes{"artifacts.body",           "attempts.sent_hash",       "contract_snapshots.hash",
                                           "dead_letters.payload",     "digest_failures.identity", "edited_payloads.body",
                                           "submissions.payload_hash", "submissions.body"};

class OrgExport : public FullTenants {
 protected:
  // The lines; `meanwhile` is called once the first one is there.
  std::vector<std::string> exported(const std::function<void()>& meanwhile = {}) {
    std::vector<std::string> lines;
    const auto done = export_organisation(*make_export_store(address(kAdmin)), {.name = "acme", .actor = "ada"},
                                          [&](const std::string& line) -> Result<void> {
                                            lines.push_back(line);
                                            if (meanwhile && lines.size() == 1) meanwhile();
                                            return {};
                                          });
    EXPECT_TRUE(done) << done.error().what;
    return lines;
  }
  static std::map<std::string, std::vector<json>> rows_in(const std::vector<std::string>& lines) {
    std::map<std::string, std::vector<json>> rows;
    for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
      const auto line = json::parse(lines[i]);
      rows[line.at("table")].push_back(line.at("row"));
    }
    return rows;
  }
  static std::set<std::string> left_out() {
    std::set<std::string> names;
    for (const auto& one : left_out_of_exports()) names.emplace(one.what);
    return names;
  }
  std::set<std::string> columns_of(const std::string& table) {
    const auto all =
        list("SELECT attname FROM pg_attribute WHERE attrelid = '" + table + "'::regclass AND attnum > 0 AND NOT attisdropped");
    std::set<std::string> columns(all.begin(), all.end());
    std::erase_if(columns, [&](const std::string& column) { return left_out().contains(table + "." + column); });
    return columns;
  }
};

// O7
TEST_F(OrgExport, EveryTableOfItIsThereAndNothingOfOthers) {
  const auto lines = exported();
  ASSERT_GE(lines.size(), 3u);
  auto rows = rows_in(lines);
  const auto header = json::parse(lines.front());
  std::set<std::string> named;
  for (const auto& one : header.at("leftOut")) named.insert(one.at("what"));
  EXPECT_EQ(named, left_out());
  for (const auto& [table, count] : rows_of(2)) {
    EXPECT_GT(count, 0) << table << ": this test has no row of it";
    ASSERT_EQ(static_cast<std::int64_t>(rows[table].size()), left_out().contains(table) ? 0 : count) << table;
    for (const auto& row : rows[table]) {
      EXPECT_EQ(row.at("org_id"), 2) << table;
      std::set<std::string> columns;
      for (const auto& [column, value] : row.items()) columns.insert(column);
      EXPECT_EQ(columns, columns_of(table)) << table;
    }
  }
  ASSERT_EQ(rows["organisations"].size(), 1u);
  EXPECT_EQ(rows["organisations"][0]["name"], "acme");
  EXPECT_EQ(rows["pipeline_versions"].size(), 1u) << "which its submissions follow";
}

// O7
TEST_F(OrgExport, TheHeaderAndTheLastLineSayWhatItIs) {
  const auto lines = exported();
  const auto header = json::parse(lines.front()), last = json::parse(lines.back());
  EXPECT_EQ(header["form"], kExportForm);
  EXPECT_EQ(header["version"], kExportVersion);
  EXPECT_EQ(header["schema"], program_version());
  EXPECT_EQ(header["organisation"], json({{"id", 2}, {"name", "acme"}}));
  EXPECT_EQ(header["actor"], "ada");
  std::string before;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) before += lines[i] + "\n";
  EXPECT_EQ(last["sha256"], to_hex(as_view(sha256(before))));
  EXPECT_EQ(last["rows"], lines.size() - 2);
  for (const auto& [table, rows] : rows_in(lines)) EXPECT_EQ(last["tables"][table], rows.size()) << table;
  EXPECT_EQ(sql.text("SELECT metadata ->> 'sha256' FROM audit_log WHERE action = 'organisation_exported' AND org_id = 1 AND "
                     "actor = 'ada'"),
            last["sha256"]);
}

// O7 N1: what is sealed and what opens it stay where they are
TEST_F(OrgExport, NoSecretIsInIt) {
  sql.execute("UPDATE channels SET secret = 'of a channel', secondary_secret = 'the one before'");
  sql.execute("UPDATE org_keys SET sealed = 'a key'");
  sql.execute("UPDATE api_tokens SET hash = convert_to('of a token ' || token_id, 'UTF8')");
  for (const auto& line : exported())
    for (const auto* secret : {"of a channel", "the one before", "a key", "of a token"})
      EXPECT_EQ(line.find(to_hex(secret)), std::string::npos) << secret << ": " << line;
  for (const auto& column :
       list("SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace "
            "= "
            "'waybill'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.atttypid = 'bytea'::regtype AND "
            "EXISTS (SELECT FROM pg_attribute o WHERE o.attrelid = c.oid AND o.attname = 'org_id')"))
    EXPECT_TRUE(kHarmlessBytes.contains(column) || left_out().contains(column) ||
                left_out().contains(column.substr(0, column.find('.'))))
        << column << ": is it a secret?";
}

// O7
TEST_F(OrgExport, WhatComesMeanwhileIsNotInIt) {
  sql.execute("DELETE FROM rate_orders");
  const auto rows = rows_in(exported([&] {
    sql.execute("INSERT INTO rate_orders (org_id, target, count, per, actor) VALUES (2, 't', 1, 1, 'a')");
    sql.execute("DELETE FROM target_pauses");
  }));
  EXPECT_FALSE(rows.contains("rate_orders"));
  EXPECT_EQ(rows.at("target_pauses").size(), 1u);
}

// O7: more than are in memory at once, in the order of their key
TEST_F(OrgExport, ManyRowsComeInOrder) {
  sql.execute("DELETE FROM rate_orders");
  sql.execute(
      "INSERT INTO rate_orders (org_id, target, count, per, actor) SELECT 2, lpad(n::text, 4, '0'), 1, 1, 'a' FROM "
      "generate_series(1, 250) n ORDER BY n DESC");
  std::vector<std::string> targets;
  const auto rows = rows_in(exported());
  for (const auto& row : rows.at("rate_orders")) targets.push_back(row.at("target"));
  EXPECT_EQ(targets.size(), 250u);
  EXPECT_TRUE(std::is_sorted(targets.begin(), targets.end()));
}

// O7: lines go through terminals, mails and editors as they are
TEST_F(OrgExport, LinesArePrintableAsciiAndMeanTheSame) {
  const std::string text = "\xC3\xA4 \xF0\x9F\x93\xA8 \xE2\x80\xAE \x7F \" \\ \n end";
  sql.execute("UPDATE rate_orders SET actor = $ada$" + text + "$ada$");
  const auto lines = exported();
  for (const auto& line : lines)
    EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; })) << line;
  EXPECT_EQ(rows_in(lines).at("rate_orders").at(0).at("actor"), text);
}

// O7
TEST_F(OrgExport, AnUnknownOneIsRefusedAndWhoeverCannotWriteEndsIt) {
  const auto store = make_export_store(address(kAdmin));
  int lines = 0;
  const auto print = [&](const std::string&) -> Result<void> {
    ++lines;
    return fail(Error::Kind::unavailable, "the disk is full");
  };
  EXPECT_EQ(export_organisation(*store, {.name = "nobody", .actor = "ada"}, print).error().kind, Error::Kind::not_found);
  EXPECT_EQ(lines, 0);
  EXPECT_EQ(export_organisation(*store, {.name = "acme", .actor = "ada"}, print).error().what, "the disk is full");
  EXPECT_EQ(lines, 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE action = 'organisation_exported'"), 0);
}

// O7: a role that does not see every row does not write a file that looks whole
TEST_F(OrgExport, ARoleThatOnlyReadsComesToNoLastLine) {
  std::string last;
  const auto done = export_organisation(*make_export_store(address(kAnalyst)), {.name = "acme", .actor = "ann"},
                                        [&](const std::string& line) -> Result<void> {
                                          last = line;
                                          return {};
                                        });
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().what.find("permission denied"), std::string::npos) << done.error().what;
  EXPECT_EQ(last.find("\"sha256\""), std::string::npos) << last;
}

}  // namespace
}  // namespace waybill::testing
