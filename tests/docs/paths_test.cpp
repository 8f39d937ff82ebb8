// A path that a document names exists.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "docs/source_tree.h"

namespace waybill::testing {
namespace {

// Names of files that a reader is to make, or of any file of a kind.
const std::set<std::string> kNotOurs{"plugins/fax.so", "registry/pipelines/expense.json"};
const std::regex kPlaceholder("N(NNN|AME)|ROOM");
bool is_pattern(const std::string& path) {
  return path.find_first_of("*<{") != std::string::npos || std::regex_search(path, kPlaceholder);
}

std::vector<std::filesystem::path> documents() {
  auto all = files_below("docs", {".md"});
  for (const auto* folder : {"plugins", "plugin-api", "clients", "tests"})
    for (const auto& file : files_below(folder, {".md"}))
      if (!file.string().starts_with("tests/compat/") && !file.string().starts_with("plugin-api/template")) all.push_back(file);
  for (const auto* name : {"README.md", "CONTRIBUTING.md", "SECURITY.md"}) all.emplace_back(name);
  return all;
}

TEST(TheDocuments, NamePathsThatExist) {
  static const std::regex kPath("`((?:host|tests|plugins|plugin-api|clients|schema|registry|docs|cmake)/[A-Za-z0-9_./*<{-]+)");
  int seen = 0;
  for (const auto& document : documents()) {
    const auto text = text_of(source_folder() / document);
    for (auto it = std::sregex_iterator(text.begin(), text.end(), kPath); it != std::sregex_iterator(); ++it) {
      const std::string path = (*it)[1];
      if (is_pattern(path) || kNotOurs.contains(path)) continue;
      ++seen;
      EXPECT_TRUE(std::filesystem::exists(source_folder() / path)) << document << " names " << path;
    }
  }
  EXPECT_GT(seen, 150);
}

}  // namespace
}  // namespace waybill::testing
