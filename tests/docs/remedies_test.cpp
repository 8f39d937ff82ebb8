// Where a message of the program sends somebody, there is such a page and such a section.  O4
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

#include "docs/source_tree.h"

namespace waybill::testing {
namespace {

// The anchors of a page, as they are made of its headings.
std::set<std::string> anchors_of(const std::filesystem::path& page) {
  std::set<std::string> all;
  for (const auto& line : lines_of(page)) {
    const auto text = line.find_first_not_of("# ");
    if (!line.starts_with('#') || text == std::string::npos) continue;
    std::string anchor;
    for (const char c : line.substr(text)) {
      if (c == ' ') anchor += '-';
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_')
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    all.insert(anchor);
  }
  return all;
}

// O4
TEST(TheRemedies, LeadToPagesAndSectionsThatExist) {
  static const std::regex kPlace(R"((docs/operations/[a-z-]+\.md)(#[a-z0-9_-]+)?)");
  int sections = 0;
  for (const auto& file : files_below("host", {".cpp"})) {
    const auto text = text_of(source_folder() / file);
    for (auto it = std::sregex_iterator(text.begin(), text.end(), kPlace); it != std::sregex_iterator(); ++it) {
      const auto page = source_folder() / (*it)[1].str();
      ASSERT_TRUE(std::filesystem::exists(page)) << file << " names " << (*it)[1];
      if (!(*it)[2].matched) continue;
      ++sections;
      EXPECT_TRUE(anchors_of(page).contains((*it)[2].str().substr(1))) << file << " names " << it->str();
    }
  }
  EXPECT_GT(sections, 20);
}

}  // namespace
}  // namespace waybill::testing
