// A file of an export is whole and unchanged, or the line is named that says otherwise.  O7
#include "maintenance/export_file.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/version.h"
#include "maintenance/org_export.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Lines = std::vector<std::string>;

// Two tables, of one of which there are two rows.
class SmallStore final : public ExportStore {
 public:
  Result<void> read(const std::string&, std::span<const LeftOut>, const ExportVisitor& visitor) override {
    TRY(visitor.begin({.id = {2}, .now = {0}, .schema = 62, .shards = 4}));
    TRY(visitor.row("channels", R"({"name":"\u00e4"})"));
    TRY(visitor.row("submissions", R"({"id":9223372036854775807})"));
    TRY(visitor.row("submissions", R"({"id":2048})"));
    return {};
  }
  Result<void> note(OrgId, const ExportNote&) override { return {}; }
};

Lines exported() {
  Lines lines;
  SmallStore store;
  EXPECT_TRUE(export_organisation(store, {.name = "acme", .actor = "ada"}, [&](const std::string& line) -> Result<void> {
    lines.push_back(line);
    return {};
  }));
  return lines;
}

Result<ExportFile> verified(const Lines& lines) {
  std::stringstream file;
  for (const auto& line : lines) file << line << "\n";
  return verify_export(file);
}

// What is said of a file that was changed like this.
std::string refusal(const std::function<void(Lines&)>& change) {
  auto lines = exported();
  change(lines);
  const auto read = verified(lines);
  EXPECT_FALSE(read);
  return read ? "" : read.error().what;
}

void replace(std::string& line, const std::string& what, const std::string& with) {
  const auto at = line.find(what);
  ASSERT_NE(at, std::string::npos) << line;
  line.replace(at, what.size(), with);
}

bool begins(const std::string& text, const std::string& with) { return text.starts_with(with); }

// O7
TEST(ExportFiles, OneThatWasExportedIsWhole) {
  const auto read = verified(exported());
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->organisation, "acme");
  EXPECT_EQ(read->exported_at, "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(read->program, built_version());
  EXPECT_EQ(read->schema, 62);
  EXPECT_EQ(read->rows, 3);
  EXPECT_EQ(read->tables, (std::map<std::string, std::int64_t>{{"channels", 1}, {"submissions", 2}}));
  EXPECT_EQ(read->digest, json::parse(exported().back())["sha256"]);
}

// O7
TEST(ExportFiles, OneThatWasCutIsNot) {
  EXPECT_PRED2(begins, refusal([](Lines& lines) { lines.pop_back(); }), "line 5: the file ends without its last line");
  EXPECT_PRED2(begins, refusal([](Lines& lines) { lines.clear(); }), "line 1: this is no file of `waybill org export`");
  EXPECT_PRED2(begins, refusal([](Lines& lines) { lines[3].resize(20); }), "line 4: ");
  EXPECT_PRED2(begins, refusal([](Lines& lines) { lines.push_back(lines.back()); }), "line 6: there is more");
}

// O7: not a byte, not a row, not their order
TEST(ExportFiles, OneThatWasChangedIsNot) {
  const std::string changed = "line 5: the lines before it have been changed";
  EXPECT_PRED2(begins, refusal([](Lines& lines) { replace(lines[3], "2048", "2049"); }), changed);
  EXPECT_PRED2(begins, refusal([](Lines& lines) { replace(lines[0], "ada", "eve"); }), changed);
  EXPECT_PRED2(begins, refusal([](Lines& lines) { lines[1] += "\r"; }), changed);
  EXPECT_PRED2(begins, refusal([](Lines& lines) { std::swap(lines[2], lines[3]); }), changed);
  EXPECT_PRED2(begins, refusal([](Lines& lines) { lines.erase(lines.begin() + 2); }), "line 4: the lines before it");
  const std::string counts = "line 5: it does not say how many rows";
  EXPECT_PRED2(begins, refusal([](Lines& lines) { replace(lines[4], "\"rows\":3", "\"rows\":4"); }), counts);
  EXPECT_PRED2(begins, refusal([](Lines& lines) { replace(lines[4], "\"channels\":1", "\"channels\":2"); }), counts);
}

// O7
TEST(ExportFiles, WhatIsNoneIsRefusedWithItsLine) {
  EXPECT_PRED2(begins, refusal([](Lines& lines) { lines[0] = "{}"; }), "line 1: this is no file");
  EXPECT_PRED2(begins, refusal([](Lines& lines) { replace(lines[0], "\"version\":1", "\"version\":2"); }),
               "line 1: it is of another version of the form: this program reads version 1");
  EXPECT_PRED2(begins, refusal([](Lines& lines) { replace(lines[0], "exportedAt", "at"); }), "line 1: the header does not say");
  EXPECT_PRED2(begins, refusal([](Lines& lines) { replace(lines[0], "\"id\"", "\"number\""); }),
               "line 1: the header does not say");
  EXPECT_PRED2(begins, refusal([](Lines& lines) { lines[2] = "[]"; }), "line 3: it is no JSON object");
  EXPECT_PRED2(begins, refusal([](Lines& lines) { replace(lines[2], "\"row\"", "\"raw\""); }), "line 3: it is no row");
  EXPECT_PRED2(begins, refusal([](Lines& lines) { lines[2] = "{\"table\":\"x\",\"table\":\"y\",\"row\":{}}"; }), "line 3: ");
}

}  // namespace
}  // namespace waybill::testing
