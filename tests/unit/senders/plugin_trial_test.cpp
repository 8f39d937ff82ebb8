// Plugins are loaded in a child process first, and from a copy: what harms a process is named, and nobody writes over code that
// runs. D7
#include "senders/plugin_trial.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <waybill/plugin.h>

#include <fstream>

#include "plugin_protocol/plugin_text.h"
#include "senders/catalogue.h"
#include "unit/senders/plugin_folder.h"

namespace waybill {
namespace {

using testing::PluginFolder;

bool tells(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

const RefusedPlugin* refusal_in(const Catalogue& catalogue, const std::string& file) {
  for (const auto& one : catalogue.refused())
    if (one.file == file) return &one;
  return nullptr;
}

TEST(PluginTrial, NamesEachThatHarmsItsProcessAndLoadsTheOthers) {
  PluginFolder folder{"crashes_at_load", "good"};
  folder.add("exits_at_load", "at_once.so");  // the first by name: what comes after it is tried as well
  const auto catalogue = Catalogue::load(folder.path());
  ASSERT_EQ(catalogue->loaded().size(), 1u);
  EXPECT_EQ(catalogue->loaded()[0].file, "good.so");
  const auto* crash = refusal_in(*catalogue, "crashes_at_load.so");
  ASSERT_NE(crash, nullptr);
  EXPECT_TRUE(tells(crash->reason, "killed by SIGABRT")) << crash->reason;
  EXPECT_TRUE(tells(crash->reason, "no licence")) << crash->reason;
  EXPECT_TRUE(tells(crash->remedy, "waybill plugin check")) << crash->remedy;
  const auto* end = refusal_in(*catalogue, "at_once.so");
  ASSERT_NE(end, nullptr);
  EXPECT_TRUE(tells(end->reason, "exit(0)")) << end->reason;
}

TEST(PluginTrial, WaitsForAHangingOneOnlySoLong) {
  PluginFolder folder{};
  const std::vector<std::filesystem::path> files{folder.add("hangs_at_load", "a.so"), folder.add("good", "b.so")};
  const auto faults =
      try_in_child(files, [](const auto& file) { dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL); }, {std::chrono::seconds(3)});
  EXPECT_EQ(faults[0], "still busy after 3s");
  EXPECT_EQ(faults[1], "");
}

TEST(PluginTrial, TriesTheSettingsToo) {
  const PluginFolder folder{"exits_in_check"};
  EXPECT_EQ(Catalogue::load(folder.path(), {{"exits_in_check", R"({"word":"stay"})"}})->loaded().size(), 1u);
  for (const auto* settings : {R"({"word":"exit"})", R"({"word":"leave"})"}) {
    const auto catalogue = Catalogue::load(folder.path(), {{"exits_in_check", settings}});
    ASSERT_EQ(catalogue->refused().size(), 1u) << settings;
    EXPECT_TRUE(tells(catalogue->refused()[0].reason, "exit(0)")) << catalogue->refused()[0].reason;
  }
}

TEST(PluginTrial, WhatIsLoadedIsACopyUnderTheNameOfItsFile) {
  PluginFolder folder{};
  const auto file = folder.add("good", "good.so");
  const auto catalogue = Catalogue::load(folder.path());
  ASSERT_EQ(catalogue->loaded().size(), 1u);
  EXPECT_EQ(catalogue->loaded()[0].why_in_place, "");
  std::ofstream(file, std::ios::trunc) << "not a library any more";
  const auto* action = catalogue->action("good");
  ASSERT_NE(action, nullptr);
  EXPECT_EQ(view_of(action->type), "good");  // SIGBUS, if the file were mapped
  EXPECT_NE(action->create, nullptr);
  Dl_info found{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(action->create), &found), 0);
  EXPECT_EQ(std::filesystem::path(found.dli_fname), std::filesystem::canonical(file));
}

TEST(PluginTrial, WhatFindsItsLibrariesWhereItLiesIsLoadedThere) {
  PluginFolder folder{};
  const auto file = folder.add("good", "good.so");
  std::ofstream(file, std::ios::app) << "$ORIGIN/lib";  // where it stands in the file makes no difference
  const auto catalogue = Catalogue::load(folder.path());
  ASSERT_EQ(catalogue->loaded().size(), 1u);
  EXPECT_TRUE(tells(catalogue->loaded()[0].why_in_place, "$ORIGIN")) << catalogue->loaded()[0].why_in_place;
}

TEST(PluginTrial, EachCopyIsALibraryOfItsOwn) {
  const PluginFolder first{"good"}, second{"second_good"};
  const auto one = Catalogue::load(first.path()), other = Catalogue::load(second.path());
  EXPECT_EQ(one->loaded()[0].id, "test.good");
  EXPECT_EQ(other->loaded()[0].file, "second_good.so");
  EXPECT_NE(one->action("good"), other->action("good"));
}

}  // namespace
}  // namespace waybill
