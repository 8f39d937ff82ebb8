// A version in the place of the registry folder: all of it at once, with the one of before beside it.  O5
#include "app/registry_rollback.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/temp_folder.h"

namespace waybill::testing {
namespace {

namespace fs = std::filesystem;

class RegistryRollback : public ::testing::Test {
 protected:
  RegistryRollback() {
    fs::create_directories(registry / "forms");
    write_file(registry / "targets.json", "now");
    write_file(registry / "forms/new.yaml", "new");
    write_file(registry / "client.key", "-----BEGIN PRIVATE KEY-----\n");
    ::chmod((registry / "targets.json").c_str(), 0600);
  }
  std::size_t folders() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
  }

  const TempFolder folder;
  const fs::path registry = folder.path() / "registry";
  const RegistryFiles version{{"targets.json", "then"}, {"pipelines/p.json", "{}"}};
};

// O5
TEST_F(RegistryRollback, ExchangesTheFolderAndKeepsTheOneOfBefore) {
  auto staged = StagedRegistry::make(registry, version);
  ASSERT_TRUE(staged) << staged.error().what;
  EXPECT_EQ(read_file(registry / "targets.json"), "now") << "nothing has happened yet";
  EXPECT_EQ(read_file(staged->path() / "targets.json"), "then");
  const auto backup = staged->put_in_place();
  ASSERT_TRUE(backup) << backup.error().what;
  EXPECT_EQ(read_file(registry / "targets.json"), "then");
  EXPECT_EQ(read_file(registry / "pipelines/p.json"), "{}");
  EXPECT_FALSE(fs::exists(registry / "forms/new.yaml")) << "the version does not have it";
  EXPECT_TRUE(fs::exists(registry / "client.key")) << "no part of versions";
  EXPECT_EQ(read_file(*backup / "targets.json"), "now");
  EXPECT_EQ(read_file(*backup / "forms/new.yaml"), "new");
  struct stat mode {};
  ASSERT_EQ(::stat((registry / "targets.json").c_str(), &mode), 0);
  EXPECT_EQ(mode.st_mode & 0777, 0600u);
  EXPECT_EQ(folders(), 2u);
}

// O5
TEST_F(RegistryRollback, LeavesNothingBehindUnlessItIsPutInPlace) {
  { ASSERT_TRUE(StagedRegistry::make(registry, version)); }
  EXPECT_EQ(folders(), 1u);
  EXPECT_FALSE(StagedRegistry::make(folder.path() / "nowhere", version));
}

// O5
TEST_F(RegistryRollback, WritesThroughNoLink) {
  write_file(folder.path() / "shared.json", "shared");
  fs::remove(registry / "targets.json");
  fs::create_symlink(folder.path() / "shared.json", registry / "targets.json");
  fs::create_directory_symlink(registry, folder.path() / "link");
  auto staged = StagedRegistry::make(folder.path() / "link", version);
  ASSERT_TRUE(staged) << staged.error().what;
  ASSERT_TRUE(staged->put_in_place());
  EXPECT_EQ(read_file(folder.path() / "shared.json"), "shared");
  EXPECT_EQ(read_file(registry / "targets.json"), "then");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
}

// O5
TEST_F(RegistryRollback, RefusesALinkToAFolder) {
  fs::create_directories(folder.path() / "shared");
  write_file(folder.path() / "shared/mail.html", "shared");
  fs::create_directory_symlink(folder.path() / "shared", registry / "templates");
  const auto staged = StagedRegistry::make(registry, {{"targets.json", "then"}, {"templates/mail.html", "then"}});
  ASSERT_FALSE(staged);
  EXPECT_NE(staged.error().what.find("templates: it is a link to a folder"), std::string::npos) << staged.error().what;
  EXPECT_EQ(read_file(folder.path() / "shared/mail.html"), "shared");
}

}  // namespace
}  // namespace waybill::testing
