// Which registries a host notes, and in which order, while the database answers and while it does not.  O5
#include "app/registry_recorder.h"

#include <gtest/gtest.h>

#include "registry/registry_digest.h"
#include "support/temp_folder.h"

namespace waybill {
namespace {

// "<trigger> <content of targets.json>" of each.
struct Noted {
  std::vector<std::string> all;
  bool is_away = false;
};

class ScriptedVersions final : public RegistryVersionStore {
 public:
  explicit ScriptedVersions(Noted& noted) : noted_(noted) {}
  Result<std::optional<int>> note(const RegistryFiles& files, const std::string&, const RegistryOrigin& by,
                                  const Count&) override {
    if (noted_.is_away) return fail(Error::Kind::unavailable, "the database is away");
    noted_.all.push_back(by.trigger + " " + files.at("targets.json"));
    return std::optional(static_cast<int>(noted_.all.size()));
  }
  Result<RegistryEvents> events(std::int64_t, std::size_t) override { return RegistryEvents{}; }
  Result<RegistryVersion> find(int) override { return RegistryVersion{}; }

 private:
  Noted& noted_;
};

class RegistryRecords : public ::testing::Test {
 protected:
  RegistryRecords() { config.registry = folder.path(); }
  // The files change, and a host takes them up.
  void load(const std::string& content, const std::string& trigger = "reload") {
    testing::write_file(folder.path() / "targets.json", content);
    recorder.in_force({"ada", "admin", trigger}, registry_digest(folder.path()));
  }

  testing::TempFolder folder;
  Config config;
  Log log{Log::Level::error, Log::Format::json};
  Noted noted;
  RegistryRecorder recorder{config, std::make_unique<ScriptedVersions>(noted), "box:1", log};
};

// O5: the reload comes before the start was noted
TEST_F(RegistryRecords, AReloadRightAfterTheStartIsNotedAfterTheStart) {
  load("{}", "start");
  load("{\"a\":1}");
  ASSERT_TRUE(recorder.record());
  EXPECT_EQ(noted.all, (std::vector<std::string>{"start {}", "reload {\"a\":1}"}));
  ASSERT_TRUE(recorder.record());
  EXPECT_EQ(noted.all.size(), 2u);
}

// O5
TEST_F(RegistryRecords, WhatTheDatabaseDidNotTakeComesBeforeWhatCameAfterIt) {
  noted.is_away = true;
  load("{}", "start");
  EXPECT_FALSE(recorder.record());
  load("{\"a\":1}");
  EXPECT_FALSE(recorder.record());
  load("{}");
  noted.is_away = false;
  ASSERT_TRUE(recorder.record());
  EXPECT_EQ(noted.all, (std::vector<std::string>{"start {}", "reload {\"a\":1}", "reload {}"})) << "it went there and back";
}

// O5
TEST_F(RegistryRecords, WhatIsAsBeforeIsNoNews) {
  load("{}", "start");
  load("{}");
  ASSERT_TRUE(recorder.record());
  load("{}");
  ASSERT_TRUE(recorder.record());
  EXPECT_EQ(noted.all, std::vector<std::string>{"start {}"});
  EXPECT_FALSE(recorder.task().is_wanted());
}

// O5
TEST_F(RegistryRecords, WhileTheDatabaseIsAwayTheOldestAreGivenUp) {
  noted.is_away = true;
  for (int i = 0; i < 6; ++i) load("{\"a\":" + std::to_string(i) + "}");
  EXPECT_FALSE(recorder.record());
  noted.is_away = false;
  ASSERT_TRUE(recorder.record());
  ASSERT_EQ(noted.all.size(), 4u);
  EXPECT_EQ(noted.all.front(), "reload {\"a\":2}");
  EXPECT_EQ(noted.all.back(), "reload {\"a\":5}");
}

// O5: files that were changed again are not those that are in force
TEST_F(RegistryRecords, FilesThatChangedSinceTheyWereLoadedAreLeftOut) {
  testing::write_file(folder.path() / "targets.json", "{}");
  const auto loaded = registry_digest(folder.path());
  testing::write_file(folder.path() / "targets.json", "{\"a\":1}");
  recorder.in_force({"ada", "admin", "start"}, loaded);
  ASSERT_TRUE(recorder.record());
  EXPECT_TRUE(noted.all.empty());
}

}  // namespace
}  // namespace waybill
