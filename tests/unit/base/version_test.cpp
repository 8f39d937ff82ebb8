// One version everywhere.  O1
#include "base/version.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace waybill {
namespace {

std::string text_of(const std::string& file) {
  std::ifstream in(std::string(WAYBILL_SOURCE_DIR) + "/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Version, IsThatOfTheSourcesAndOfTheChangelog) {
  const std::string version = built_version();
  EXPECT_NE(text_of("CMakeLists.txt").find("project(waybill VERSION " + version + " "), std::string::npos);
  const auto changelog = text_of("CHANGELOG.md");
  const auto heading = changelog.find("\n## ");
  ASSERT_NE(heading, std::string::npos);
  const auto newest = changelog.substr(heading + 4, changelog.find('\n', heading + 1) - heading - 4);
  EXPECT_TRUE(newest == "Unreleased" || newest.starts_with(version)) << newest;
}

TEST(Version, NamesTheCommitOfARelease) {
  const std::string commit = built_commit();
  EXPECT_EQ(version_words(), commit.empty() ? built_version() : built_version() + (" (" + commit + ")"));
}

}  // namespace
}  // namespace waybill
