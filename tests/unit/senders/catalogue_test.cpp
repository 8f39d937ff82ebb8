// Loading plugins: what is taken, and what is refused by name, never at the cost of the others.  H1 H2 H5 D9
#include "senders/catalogue.h"

#include <gtest/gtest.h>
#include <waybill/plugin.h>

#include <fstream>

#include "unit/senders/plugin_folder.h"

namespace waybill {
namespace {

using testing::PluginFolder;

// The refusal of the only file of a folder.
RefusedPlugin refusal(const std::filesystem::path& folder) {
  const auto catalogue = Catalogue::load(folder);
  EXPECT_TRUE(catalogue->loaded().empty());
  if (catalogue->refused().size() != 1) return {"", "refused " + std::to_string(catalogue->refused().size()), ""};
  EXPECT_FALSE(catalogue->refused().front().remedy.empty());
  return catalogue->refused().front();
}

bool mentions(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

TEST(Catalogue, AFileInTheFolderIsAllItTakes) {
  const PluginFolder folder{"good"};
  const auto catalogue = Catalogue::load(folder.path());
  EXPECT_TRUE(catalogue->refused().empty());
  ASSERT_EQ(catalogue->loaded().size(), 1u);
  EXPECT_EQ(catalogue->loaded()[0].file, "good.so");
  EXPECT_EQ(catalogue->loaded()[0].id, "test.good");
  EXPECT_EQ(catalogue->names(), (std::vector<std::string>{"good", "good_blocking"}));
  const auto* type = catalogue->find("good");
  ASSERT_NE(type, nullptr);
  EXPECT_FALSE(type->blocking);
  EXPECT_TRUE(catalogue->find("good_blocking")->blocking);
  ASSERT_EQ(type->reasons.size(), 2u);
  EXPECT_EQ(type->reasons[0].name, "invalid_request");
  EXPECT_TRUE(type->reasons[0].permanent);
  EXPECT_TRUE(type->reasons[1].duplicate);
  EXPECT_EQ(catalogue->find("nobody"), nullptr);
  EXPECT_EQ(catalogue->action("nobody"), nullptr);
  EXPECT_NE(catalogue->action("good"), nullptr);
}

// O1: a package's folder is nobody else's to write to, so plugins of others have one of their own.
TEST(Catalogue, FurtherFoldersHavePluginsToo) {
  const PluginFolder first{"good"}, second{"second_good", "hangs", "no_symbol"};
  const auto catalogue = Catalogue::load({first.path(), {second.path(), "/nowhere/plugins"}});
  const auto other = std::filesystem::canonical(second.path()).string();
  ASSERT_NE(catalogue->plugin_of("hangs"), nullptr);
  EXPECT_EQ(catalogue->plugin_of("hangs")->file, other + "/hangs.so");
  std::vector<std::string> refused;
  for (const auto& plugin : catalogue->refused()) refused.push_back(plugin.file);
  EXPECT_EQ(refused, (std::vector<std::string>{"/nowhere/plugins", other + "/no_symbol.so", other + "/second_good.so"}))
      << "the action type is the first folder's; a folder that is not there costs the others nothing";
}

TEST(Catalogue, WhatIsNoPluginIsRefusedByName) {
  EXPECT_TRUE(mentions(refusal(PluginFolder{"no_symbol"}.path()).reason, "does not export wb_plugin_v1"));
  EXPECT_TRUE(mentions(refusal(PluginFolder{"wrong_major"}.path()).reason, "ABI major 2"));
  EXPECT_TRUE(mentions(refusal(PluginFolder{"newer_minor"}.path()).reason, "needs a host of ABI 1.7"));
  EXPECT_TRUE(mentions(refusal(PluginFolder{"null_create"}.path()).reason, "null_create has no create"));
  EXPECT_TRUE(mentions(refusal(PluginFolder{"throws_in_entry"}.path()).reason, "threw"));
  EXPECT_EQ(refusal(PluginFolder{"no_symbol"}.path()).file, "no_symbol.so");
}

TEST(Catalogue, AFileThatIsNoLibraryIsRefusedWithTheLoadersOwnWords) {
  const PluginFolder folder{};
  std::ofstream(folder.path() / "text.so") << "This is not an ELF file, however long it may be. " << std::string(500, '.');
  std::filesystem::permissions(folder.path() / "text.so", std::filesystem::perms(0644));
  const auto refused = refusal(folder.path());
  EXPECT_EQ(refused.file, "text.so");
  EXPECT_TRUE(mentions(refused.reason, "invalid ELF header")) << refused.reason;
}

TEST(Catalogue, OtherFilesAreNoneOfItsBusiness) {
  const PluginFolder folder{"good"};
  std::ofstream(folder.path() / "README.md") << "text";
  EXPECT_TRUE(Catalogue::load(folder.path())->refused().empty());
}

TEST(Catalogue, TheFirstByFileNameKeepsAnActionType) {
  const PluginFolder folder{"second_good", "good"};
  const auto catalogue = Catalogue::load(folder.path());
  ASSERT_EQ(catalogue->loaded().size(), 1u);
  EXPECT_EQ(catalogue->loaded()[0].file, "good.so");
  ASSERT_EQ(catalogue->refused().size(), 1u);
  EXPECT_EQ(catalogue->refused()[0].file, "second_good.so");
  EXPECT_TRUE(mentions(catalogue->refused()[0].reason, "good.so"));
}

// D9
TEST(Catalogue, OfTwoVersionsOfAnActionTypeTheNewerIsUsedOrTheOneThatIsWanted) {
  const PluginFolder folder{"good", "newer_good"};
  const auto newest = Catalogue::load(folder.path());
  EXPECT_TRUE(newest->refused().empty());
  EXPECT_EQ(newest->plugin_of("good")->file, "newer_good.so");
  EXPECT_EQ(newest->plugin_of("good_blocking")->file, "good.so");
  ASSERT_EQ(newest->superseded().size(), 1u);
  EXPECT_EQ(words_of(newest->superseded()[0]),
            "action type good of good.so (version 1) is not used: newer_good.so has version 1.10");
  const auto wanted = Catalogue::load(folder.path(), {{"good", R"({"plugin_version":"1"})"}});
  EXPECT_EQ(wanted->plugin_of("good")->file, "good.so");
  ASSERT_EQ(wanted->loaded().size(), 1u);
  EXPECT_EQ(
      words_of(wanted->superseded()[0]),
      "action type good of newer_good.so (version 1.10) is not used: senders.good.plugin_version is 1, which is that of good.so");
  EXPECT_TRUE(wanted->check_settings("good", R"({"plugin_version":"1"})").empty());
  const auto nobody = Catalogue::load(folder.path(), {{"good", R"({"plugin_version":"7"})"}});
  EXPECT_EQ(nobody->find("good"), nullptr);
  EXPECT_EQ(nobody->superseded().size(), 2u);
  EXPECT_TRUE(mentions(words_of(nobody->superseded()[0]), "which no file has"));
}

// D9
TEST(Catalogue, APayloadIsHeldAgainstItsSchemaAndThatIsAll) {
  const PluginFolder folder{"newer_good"};
  const auto catalogue = Catalogue::load(folder.path());
  EXPECT_TRUE(catalogue->check_payload("good", R"({"to":"a","more":1})").empty());
  const auto wrong = catalogue->check_payload("good", R"({"to":["a",5]})");
  ASSERT_FALSE(wrong.empty());
  EXPECT_EQ(wrong[0].field, "to");
  const auto missing = catalogue->check_payload("good", "");
  ASSERT_FALSE(missing.empty());
  EXPECT_EQ(missing[0].field, "to");
  EXPECT_EQ(missing[0].message, "is missing");
  EXPECT_FALSE(catalogue->check_payload("good", "[1]").empty());
  EXPECT_TRUE(Catalogue::load(PluginFolder{"good"}.path())->check_payload("good", "no JSON at all").empty());
}

// D9 I3
TEST(Catalogue, WhatChangesInItsFolderIsSeenAndNotLoaded) {
  PluginFolder folder{"good", "picky"};
  const auto catalogue = Catalogue::load(folder.path());
  EXPECT_TRUE(catalogue->renewed({}, kAllInHost)->not_taken().empty());
  folder.add("second_good", "another.so");
  std::filesystem::remove(folder.path() / "picky.so");
  std::ofstream(folder.path() / "good.so", std::ios::app) << "more";
  std::map<std::string, std::string> changes;
  const auto next = catalogue->renewed({}, kAllInHost);
  for (const auto& change : next->not_taken()) changes[change.file] = change.how;
  EXPECT_EQ(changes, (std::map<std::string, std::string>{{"another.so", "new"}, {"good.so", "replaced"}, {"picky.so", "gone"}}));
  EXPECT_NE(next->find("picky"), nullptr) << "it stays in use";
  EXPECT_EQ(next->action("good"), catalogue->action("good"));
}

TEST(Catalogue, AGoodPluginLoadsInTheMidstOfBadOnes) {
  const PluginFolder folder{"bad_create", "no_symbol", "wrong_major", "newer_minor", "null_create", "throws_in_entry", "good"};
  const auto catalogue = Catalogue::load(folder.path());
  EXPECT_EQ(catalogue->refused().size(), 5u);
  EXPECT_NE(catalogue->find("good"), nullptr);
}

TEST(Catalogue, WhatOthersMayWriteToIsRefused) {
  PluginFolder folder{};
  const auto file = folder.add("good", "good.so");
  for (const unsigned mode : {0664u, 0646u}) {
    std::filesystem::permissions(file, std::filesystem::perms(mode));
    const auto refused = refusal(folder.path());
    EXPECT_EQ(refused.file, "good.so");
    EXPECT_TRUE(mentions(refused.reason, "may write"));
    EXPECT_TRUE(mentions(refused.remedy, "chmod go-w"));
  }
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0777));
  EXPECT_EQ(refusal(folder.path()).file, folder.path().string());
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  EXPECT_EQ(Catalogue::load(folder.path())->loaded().size(), 1u);
}

TEST(Catalogue, ALinkIsNotAPlugin) {
  PluginFolder elsewhere{"good"};
  const PluginFolder folder{};
  std::filesystem::create_symlink(elsewhere.path() / "good.so", folder.path() / "good.so");
  EXPECT_TRUE(mentions(refusal(folder.path()).reason, "not a regular file"));
}

TEST(Catalogue, AMissingFolderIsARefusalToo) { EXPECT_EQ(refusal("/nowhere/plugins").file, "/nowhere/plugins"); }

TEST(Catalogue, ADestinationIsHeldAgainstTheSchemaAndThenShownToThePlugin) {
  const PluginFolder folder{"picky"};
  const auto catalogue = Catalogue::load(folder.path());
  ASSERT_NE(catalogue->find("picky"), nullptr);
  EXPECT_TRUE(catalogue->check_destination("picky", R"({"url":"http://a"})").empty());
  const auto missing = catalogue->check_destination("picky", "{}");
  ASSERT_FALSE(missing.empty());
  EXPECT_EQ(missing[0].field, "url");
  EXPECT_TRUE(mentions(missing[0].message, "is missing")) << missing[0].message;
  const auto wrong = catalogue->check_destination("picky", R"({"url":"http://a","to":["x",5]})");
  ASSERT_FALSE(wrong.empty());
  EXPECT_EQ(wrong[0].field, "to[1]");
  for (const auto* text : {"", "{", "[]", "null", "\xff"})
    EXPECT_EQ(catalogue->check_destination("picky", text).size(), 1u) << text;
  const auto silent = catalogue->check_destination("picky", R"({"url":"silent"})");
  ASSERT_EQ(silent.size(), 1u);
  EXPECT_TRUE(mentions(silent[0].message, "does not say why"));
}

TEST(Catalogue, APluginThatThrowsOrBabblesWhileCheckingIsKeptWithinBounds) {
  const PluginFolder folder{"picky"};
  const auto catalogue = Catalogue::load(folder.path());
  const auto thrown = catalogue->check_destination("picky", R"({"url":"throw"})");
  ASSERT_EQ(thrown.size(), 1u);
  EXPECT_TRUE(mentions(thrown[0].message, "failed"));
  const auto many = catalogue->check_destination("picky", R"({"url":"many of them"})");
  EXPECT_EQ(many.size(), 20u);
  EXPECT_EQ(many[0].field, "headers.X-A");
  EXPECT_EQ(many[0].message, "bad \xEF\xBF\xBD  header");
}

TEST(Catalogue, AnActionTypeWithoutSettingsTakesNone) {
  const PluginFolder folder{"picky"};
  const auto catalogue = Catalogue::load(folder.path());
  EXPECT_TRUE(catalogue->check_settings("picky", "{}").empty());
  const auto problems = catalogue->check_settings("picky", R"({"relay":"x"})");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].field, "relay");
  EXPECT_EQ(catalogue->check_settings("nobody", "{}").size(), 1u);
}

}  // namespace
}  // namespace waybill
