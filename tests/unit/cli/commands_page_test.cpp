// docs/operations/commands.md and docs/commands against the grammar.  O8
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_check.h"
#include "support/temp_folder.h"
#include "unit/cli/grammar_of_waybill.h"

namespace waybill {
namespace {

namespace fs = std::filesystem;
using testing::leaf_commands;
using testing::lines_of;

const fs::path kDocs = fs::path(WAYBILL_SOURCE_DIR) / "docs";

bool has_json(const CommandEntry& command) {
  return std::any_of(command.options.begin(), command.options.end(),
                     [](const OptionEntry& option) { return !option.names.empty() && option.names.front() == "--json"; });
}

std::string schema_of(const CommandEntry& command) {
  std::string name = command.path + ".schema.json";
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string row_of(const CommandEntry& command) {
  const auto& notes = *command.notes;
  const char* const needs[] = {"nothing", "configuration", "database", "host"};
  std::string row = "| `waybill " + command.path + "` | " + command.what + " | " + needs[static_cast<int>(notes.needs)] + " | " +
                    std::string(notes.one) + " | " + (notes.three.empty() ? "" : "3: " + std::string(notes.three)) +
                    (notes.four.empty() ? "" : "; 4: " + std::string(notes.four)) + " | ";
  return row + (has_json(command) ? "[schema](../commands/" + schema_of(command) + ") |" : " |");
}

TEST(CommandsPage, HasTheRowOfEachCommandAndNoOther) {
  std::vector<std::string> rows, expected;
  for (const auto& line : lines_of(testing::read_file(kDocs / "operations/commands.md")))
    if (line.starts_with("| `waybill ")) rows.push_back(line);
  for (const auto& command : leaf_commands()) expected.push_back(row_of(command));
  for (const auto& row : expected) EXPECT_NE(std::find(rows.begin(), rows.end(), row), rows.end()) << "missing:\n" << row;
  for (const auto& row : rows)
    EXPECT_NE(std::find(expected.begin(), expected.end(), row), expected.end()) << "no longer:\n" << row;
}

TEST(CommandSchemas, AreThereForEachCommandButThoseThatPrintNoData) {
  const std::set<std::string> without{"serve", "completion", "manual", "org export"};
  std::set<std::string> expected{"error.schema.json"}, there;
  for (const auto& command : leaf_commands()) {
    EXPECT_EQ(has_json(command), !without.contains(command.path)) << command.path;
    if (has_json(command)) expected.insert(schema_of(command));
  }
  for (const auto& file : fs::directory_iterator(kDocs / "commands")) there.insert(file.path().filename());
  EXPECT_EQ(there, expected);
}

TEST(CommandSchemas, AreGoodAndSayWhatTheyAreOf) {
  std::size_t seen = 0;
  for (const auto& command : leaf_commands()) {
    if (!has_json(command)) continue;
    ++seen;
    const auto text = testing::read_file(kDocs / "commands" / schema_of(command));
    ASSERT_TRUE(JsonCheck::compile(text)) << command.path;
    const auto title = nlohmann::json::parse(text).at("title").get<std::string>();
    EXPECT_TRUE(title.starts_with("waybill " + command.path + " --json: ")) << title;
  }
  EXPECT_GT(seen, 35u);
}

}  // namespace
}  // namespace waybill
