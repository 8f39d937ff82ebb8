// `waybill plugin new` writes the template under its new name, all of it or nothing. H3 D9
#include "cli/new_plugin.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "support/temp_folder.h"

namespace waybill {
namespace {

namespace fs = std::filesystem;
using testing::read_file;
using testing::TempFolder;
using testing::write_file;

std::vector<std::string> entries(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

class PluginNew : public ::testing::Test {
 protected:
  void expect_refused(const std::string& name, const std::string& why) {
    const auto before = entries(place_.path());
    const auto made = write_new_plugin(name, place_.path());
    ASSERT_FALSE(made) << name;
    EXPECT_NE(made.error().what.find(why), std::string::npos) << made.error().what;
    EXPECT_EQ(entries(place_.path()), before) << "nothing is left behind";
  }
  TempFolder place_;
};

TEST_F(PluginNew, WritesAWholePluginOfThatName) {
  const auto made = write_new_plugin("sms_2", place_.path());
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->folder, place_.path() / "sms_2");
  EXPECT_EQ(entries(place_.path()), std::vector<std::string>{"sms_2"});
  const std::vector<std::string> expected{"CMakeLists.txt", "README.md", "check.json", "sms_2.cpp", "tests/sms_2_test.cpp"};
  EXPECT_EQ(made->files, expected);
  for (const auto& file : expected) EXPECT_TRUE(fs::is_regular_file(made->folder / file)) << file;
  EXPECT_NE(read_file(made->folder / "CMakeLists.txt").find("waybill_add_plugin(sms_2)"), std::string::npos);
  EXPECT_NE(read_file(made->folder / "sms_2.cpp").find("class Sms2Sender"), std::string::npos);
  EXPECT_NE(read_file(made->folder / "README.md").find("SMS_2_TOKEN"), std::string::npos);
}

// D9
TEST_F(PluginNew, WritesOneInCAndOneThatBlocks) {
  const auto c = write_new_plugin("in_c", place_.path(), PluginLanguage::c);
  ASSERT_TRUE(c) << c.error().what;
  EXPECT_EQ(c->files, (std::vector<std::string>{"CMakeLists.txt", "README.md", "check.json", "in_c.c"}));
  EXPECT_NE(read_file(c->folder / "CMakeLists.txt").find("LANGUAGES C)"), std::string::npos);
  const auto blocking = write_new_plugin("slow", place_.path(), PluginLanguage::blocking);
  ASSERT_TRUE(blocking) << blocking.error().what;
  EXPECT_EQ(blocking->files,
            (std::vector<std::string>{"CMakeLists.txt", "README.md", "check.json", "slow.cpp", "tests/slow_test.cpp"}));
  EXPECT_NE(read_file(blocking->folder / "slow.cpp").find(".blocking()"), std::string::npos);
}

TEST_F(PluginNew, NothingOfTheTemplatesOwnNameIsLeft) {
  const auto made = write_new_plugin("pager", place_.path());
  ASSERT_TRUE(made);
  for (const auto& file : made->files) {
    auto text = file + read_file(made->folder / file);
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    EXPECT_EQ(text.find("my_destination"), std::string::npos) << file;
    EXPECT_EQ(text.find("mydestination"), std::string::npos) << file;
  }
}

TEST_F(PluginNew, TakesTheTemplatesOwnNameToo) {
  const auto made = write_new_plugin("my_destination", place_.path());
  ASSERT_TRUE(made);
  EXPECT_NE(read_file(made->folder / "CMakeLists.txt").find("waybill_add_plugin(my_destination)"), std::string::npos);
}

TEST_F(PluginNew, TheFolderIsAsOpenAsOthersThatTheUserMakes) {
  ASSERT_TRUE(write_new_plugin("pager", place_.path()));
  fs::create_directory(place_.path() / "other");
  EXPECT_EQ(fs::status(place_.path() / "pager").permissions(), fs::status(place_.path() / "other").permissions());
}

TEST_F(PluginNew, AnEmptyFolderIsFilled) {
  fs::create_directory(place_.path() / "pager");
  ASSERT_TRUE(write_new_plugin("pager", place_.path()));
  EXPECT_TRUE(fs::exists(place_.path() / "pager/pager.cpp"));
}

TEST_F(PluginNew, NothingThatIsThereIsTouched) {
  fs::create_directory(place_.path() / "pager");
  write_file(place_.path() / "pager/mine", "mine");
  expect_refused("pager", "is there already and not empty");
  EXPECT_EQ(entries(place_.path() / "pager"), std::vector<std::string>{"mine"});
  write_file(place_.path() / "sms", "a file");
  expect_refused("sms", "is there already and no folder");
  fs::create_symlink("/nowhere", place_.path() / "link");
  expect_refused("link", "is there already and no folder");
}

TEST_F(PluginNew, ANameThatNoActionTypeCanHaveIsRefused) {
  for (const char* bad : {"", "Pager", "2sms", "_sms", "sms-two", "sms two", "../sms", "a/b", "é", "."})
    expect_refused(bad, "cannot name an action type");
  expect_refused(std::string(65, 'a'), "64 at most");
  EXPECT_TRUE(write_new_plugin(std::string(64, 'a'), place_.path()));
}

TEST_F(PluginNew, ANameThatNoCMakeTargetCanHaveIsRefused) { expect_refused("test", "CMake keeps for itself"); }

TEST_F(PluginNew, AParentThatIsNotThereIsNamed) {
  const auto made = write_new_plugin("pager", place_.path() / "away");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().what, "there is no folder " + (place_.path() / "away").string());
}

TEST_F(PluginNew, APlaceThatCannotBeWrittenIsNamed) {
  // Root may write everywhere but in /proc.
  const auto made = write_new_plugin("pager", "/proc/self");
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().what.find("cannot write /proc/self/pager: "), std::string::npos) << made.error().what;
}

}  // namespace
}  // namespace waybill
