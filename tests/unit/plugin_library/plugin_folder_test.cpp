// The folder of an executable: what its plugin.json may say, and what of it is refused, by the name of the field. I4
#include "plugin_library/plugin_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/temp_folder.h"

namespace waybill {
namespace {

constexpr auto kGood = R"({"id": "org.example.fax", "version": "1.2.0", "command": ["true"],
  "actions": [{"type": "fax", "reasons": ["busy", {"name": "seen", "duplicate": true}],
               "destinationSchema": {"type": "object", "required": ["number"]}}]})";

class PluginFolderReading : public ::testing::Test {
 protected:
  PluginFolderReading() {
    std::filesystem::create_directory(path());
    ::chmod(path().c_str(), 0755);
    write(kGood);
  }
  std::filesystem::path path() const { return folder_.path() / "fax.plugin"; }
  void write(const std::string& text, const char* name = "plugin.json") const {
    testing::write_file(path() / name, text);
    ::chmod((path() / name).c_str(), 0755);
  }
  std::string refusal() const {
    const auto read = read_plugin_folder(path());
    return read ? "" : read.error().what;
  }
  void expect_refusal(const std::string& what) const {
    EXPECT_NE(refusal().find(what), std::string::npos) << refusal();
    EXPECT_NE(refusal().find('\n'), std::string::npos) << "a remedy: " << refusal();
  }

 private:
  testing::TempFolder folder_;
};

TEST_F(PluginFolderReading, GivesDescriptorAndCommand) {
  const auto read = read_plugin_folder(path());
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->descriptor.id, "org.example.fax");
  EXPECT_EQ(read->descriptor.version, "1.2.0");
  ASSERT_EQ(read->descriptor.actions.size(), 1u);
  EXPECT_EQ(read->descriptor.actions[0].type.name, "fax");
  EXPECT_EQ(read->command.front(), "/usr/bin/true") << "found where commands are";
  EXPECT_FALSE(read->descriptor.actions[0].destination.check("{}").empty());
}

TEST_F(PluginFolderReading, NamesTheFieldThatIsWrong) {
  write("no JSON");
  expect_refusal("its plugin.json is not JSON");
  write(R"({"id": "a", "version": "1", "command": [], "actions": [{"type": "fax"}]})");
  expect_refusal("command");
  write(R"({"id": "a", "version": "1", "command": ["true"], "actions": [{"type": "fax", "reason": ["a"]}]})");
  expect_refusal("actions[0]");
  write(R"({"id": "a", "version": "1", "command": ["true"], "actions": [{"type": "Fax!"}]})");
  expect_refusal("Fax!");
  write(R"({"id": "a", "version": "1", "command": ["no-such-program"], "actions": [{"type": "fax"}]})");
  expect_refusal("there is no program no-such-program");
  std::filesystem::remove(path() / "plugin.json");
  expect_refusal("cannot be read: No such file");
}

TEST_F(PluginFolderReading, RefusesWhatOthersMayWriteTo) {
  write("print()", "sender.py");
  EXPECT_EQ(refusal(), "");
  ::chmod((path() / "sender.py").c_str(), 0666);
  expect_refusal("sender.py: others than its owner may write to it");
  ::chmod((path() / "sender.py").c_str(), 0644);
  ::chmod(path().c_str(), 0777);
  expect_refusal("fax.plugin: others than its owner may write to it");
}

TEST_F(PluginFolderReading, ReadsTheInterpreterOfAScriptAndTheTreeThatAProgramStandsIn) {
  std::filesystem::create_directories(path() / "tree/bin");
  write("#!/usr/bin/env sh\n", "tree/bin/run");
  write(R"({"id": "a", "version": "1", "command": ["tree/bin/run"], "actions": [{"type": "fax"}]})");
  const auto read = read_plugin_folder(path());
  ASSERT_TRUE(read) << read.error().what;
  const auto reads = [&](const std::filesystem::path& what) {
    return std::find(read->read.begin(), read->read.end(), what) != read->read.end();
  };
  EXPECT_TRUE(reads(path()) && reads(path() / "tree") && reads("/usr/bin/env") && reads("/usr/bin/sh"));
}

TEST_F(PluginFolderReading, SeesThatAFileHasChangedButNotWhatAnInterpreterKeeps) {
  const auto before = mark_of_folder(path());
  std::filesystem::create_directory(path() / "__pycache__");
  write("x", "__pycache__/sender.pyc");
  EXPECT_EQ(mark_of_folder(path()), before);
  write("print()", "sender.py");
  EXPECT_NE(mark_of_folder(path()), before);
}

}  // namespace
}  // namespace waybill
