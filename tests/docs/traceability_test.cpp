// docs/traceability.md against the tests: every requirement has one that says so, and no test speaks of an unknown requirement.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "docs/source_tree.h"

namespace waybill::testing {
namespace {

struct Row {
  std::string id;
  std::string duty;
  std::string tests;  // the cell as written
};

std::vector<Row> table() {
  static const std::regex kRow(R"(^\|\s*([MFNJPHESDTIOQ]\d+)\s*\|([^|]*)\|([^|]*)\|)");
  std::vector<Row> rows;
  for (const auto& line : lines_of(source_folder() / "docs/traceability.md"))
    if (std::smatch found; std::regex_search(line, found, kRow)) rows.push_back({found[1], found[2], found[3]});
  return rows;
}

std::vector<std::string> files_named_in(const std::string& cell) {
  static const std::regex kFile(R"(`([^`]+)`)");
  std::vector<std::string> files;
  for (auto it = std::sregex_iterator(cell.begin(), cell.end(), kFile); it != std::sregex_iterator(); ++it)
    files.push_back((*it)[1]);
  return files;
}

// The ids that a file's comments name; of a Python file, any of its lines.
std::set<std::string> ids_in(const std::filesystem::path& file) {
  static const std::regex kId(R"(\b([MFNJPHESDTIOQ][1-9]\d?)\b)");
  std::set<std::string> ids;
  for (const auto& line : lines_of(source_folder() / file)) {
    const auto comment = file.extension() == ".py" ? 0 : line.find("// ");
    if (comment == std::string::npos) continue;
    for (auto it = std::sregex_iterator(line.begin() + static_cast<std::ptrdiff_t>(comment), line.end(), kId);
         it != std::sregex_iterator(); ++it)
      ids.insert((*it)[1]);
  }
  return ids;
}

bool is_built(const std::string& id) {
  return id[0] == 'M' || id[0] == 'H' || id[0] == 'F' || id[0] == 'E' || id[0] == 'S' || id[0] == 'T' || id[0] == 'I' ||
         id[0] == 'O';
}

TEST(Traceability, EveryRequirementHasARow) {
  const std::map<char, int> groups{{'M', 18}, {'F', 15}, {'N', 12}, {'J', 7}, {'P', 6}, {'H', 5}, {'E', 15},
                                   {'S', 14}, {'D', 13}, {'T', 36}, {'I', 7}, {'O', 8}, {'Q', 9}};
  std::set<std::string> listed;
  for (const auto& row : table()) EXPECT_TRUE(listed.insert(row.id).second) << row.id << " is listed twice";
  std::set<std::string> expected;
  for (const auto& [group, count] : groups)
    for (int i = 1; i <= count; ++i) expected.insert(group + std::to_string(i));
  EXPECT_EQ(listed, expected);
}

TEST(Traceability, EveryTestFileThatARowNamesExistsAndSaysTheId) {
  for (const auto& row : table()) {
    const auto files = files_named_in(row.tests);
    if (files.empty()) {
      EXPECT_FALSE(is_built(row.id)) << row.id << " has no test";
      EXPECT_NE(row.tests.find("later issue"), std::string::npos) << row.id << " has neither a test nor a reason for having none";
    }
    for (const auto& file : files) {
      EXPECT_TRUE(std::filesystem::exists(source_folder() / file)) << row.id << ": " << file;
      EXPECT_TRUE(ids_in(file).contains(row.id)) << file << " does not speak of " << row.id;
    }
  }
}

TEST(Traceability, EveryIdThatATestNamesIsInTheTable) {
  std::set<std::string> listed;
  for (const auto& row : table()) listed.insert(row.id);
  std::size_t seen = 0;
  for (const auto* folder : {"tests", "plugins", "plugin-api", "clients"})
    for (const auto& file : files_below(folder, {".cpp", ".c"})) {
      if (file.filename().string().find("_test.c") == std::string::npos) continue;
      for (const auto& id : ids_in(file)) {
        ++seen;
        EXPECT_TRUE(listed.contains(id)) << file << " speaks of " << id << ", which docs/traceability.md does not know";
      }
    }
  EXPECT_GT(seen, 30u);
}

}  // namespace
}  // namespace waybill::testing
