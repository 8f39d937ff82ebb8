// M10, M13: reading the folder, and the registry in use: a reload swaps it whole, and who holds the old one keeps it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "registry/registry.h"
#include "unit/registry/fake_action_types.h"

namespace waybill {
namespace {

using testing::FakeActionTypes;
using testing::joined;

class RegistryFolder : public ::testing::Test {
 protected:
  RegistryFolder() {
    auto pattern = (std::filesystem::temp_directory_path() / "waybill-registry-XXXXXX").string();
    if (mkdtemp(pattern.data())) folder_ = pattern;
  }
  ~RegistryFolder() override { std::filesystem::remove_all(folder_); }
  std::string problems() const {
    const auto registry = load_registry(folder_, FakeActionTypes{});
    return registry ? "" : joined(registry.error());
  }
  std::filesystem::path folder_;
};

TEST_F(RegistryFolder, WithoutTheFileIsRefusedByName) {
  EXPECT_EQ(problems(), (folder_ / "targets.json").string() + ": cannot be read: No such file or directory\n");
}

TEST_F(RegistryFolder, WithAFolderInPlaceOfTheFileIsRefused) {
  std::filesystem::create_directory(folder_ / "targets.json");
  EXPECT_EQ(problems(), (folder_ / "targets.json").string() + ": cannot be read: not a file\n");
}

TEST_F(RegistryFolder, WithTooLargeAFileIsRefused) {
  std::ofstream(folder_ / "targets.json") << std::string((64 << 20) + 1, ' ');
  EXPECT_EQ(problems(), (folder_ / "targets.json").string() + ": larger than 64 MiB\n");
}

TEST_F(RegistryFolder, NamesTheFileOfAProblem) {
  std::ofstream(folder_ / "targets.json") << "{\n\"targets\": 1}";
  EXPECT_EQ(problems(), (folder_ / "targets.json").string() + ":2: targets: must be a list of targets\n");
}

TEST(Registry, FindsEachTargetWhateverTheOrderOfTheFile) {
  const Registry registry({{.target = "c"}, {.target = "a"}, {.target = "b"}});
  for (const std::string name : {"a", "b", "c"}) {
    ASSERT_NE(registry.find(name), nullptr);
    EXPECT_EQ(registry.find(name)->target, name);
  }
  EXPECT_EQ(registry.find(""), nullptr);
  EXPECT_EQ(registry.find("bb"), nullptr);
}

TEST(LiveRegistry, KeepsAnOldRegistryAliveForThoseWhoHoldIt) {
  LiveRegistry live(Registry({{.target = "old"}}));
  const auto held = live.current();
  live.swap_in(Registry({{.target = "new"}}));
  EXPECT_NE(held->find("old"), nullptr);
  EXPECT_EQ(live.current()->find("old"), nullptr);
  EXPECT_NE(live.current()->find("new"), nullptr);
}

TEST(LiveRegistry, ShowsEveryReaderOneWholeRegistryDuringReloads) {
  const auto of = [](const std::string& url) { return Registry({{.target = "a", .url = url}, {.target = "b", .url = url}}); };
  LiveRegistry live(of("0"));
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 3; ++i)
      readers.emplace_back([&live](const std::stop_token& stop) {
        do {
          const auto registry = live.current();
          ASSERT_EQ(registry->find("a")->url, registry->find("b")->url);
        } while (!stop.stop_requested());
      });
    for (int i = 1; i <= 1000; ++i) live.swap_in(of(std::to_string(i)));
  }
  EXPECT_EQ(live.current()->find("a")->url, "1000");
}

}  // namespace
}  // namespace waybill
