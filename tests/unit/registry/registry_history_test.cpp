// What of the registry folder is a version, and what differs between two.  O5
#include "registry/registry_history.h"

#include <gtest/gtest.h>

#include "support/temp_folder.h"

namespace waybill::testing {
namespace {

RegistryFiles with_targets(const std::string& targets) { return {{"targets.json", "# ours\n{\"targets\": [" + targets + "]}"}}; }

const std::string kSms = R"({"submissionTarget": "sms", "gatewayType": "sms", "destination": {"path": "/a", "n": 1}})";

// O5
TEST(RegistryHistory, ComparesTargetsByNameAndField) {
  const auto before = with_targets(kSms + R"(, {"submissionTarget": "old", "rate": "1/s"})");
  const auto after = with_targets(R"({"submissionTarget": "new"}, {"submissionTarget": "sms", "gatewayType": "sms", "rate": "5/s",
                                     "destination": {"n": 1, "path": "/b"}})");
  const auto all = differences(before, after);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].target, "new");
  EXPECT_FALSE(all[0].before);
  EXPECT_EQ(all[0].after, R"({"submissionTarget":"new"})");
  EXPECT_EQ(all[1].target, "old");
  EXPECT_FALSE(all[1].after);
  EXPECT_EQ(all[2].field, "destination.path");
  EXPECT_EQ(all[2].before, R"("/a")");
  EXPECT_EQ(all[2].after, R"("/b")");
  EXPECT_EQ(all[3].field, "rate");
  EXPECT_FALSE(all[3].before);
  const auto counts = count_targets(before, after);
  EXPECT_EQ(counts.added, 1);
  EXPECT_EQ(counts.changed, 1);
  EXPECT_EQ(counts.removed, 1);
  EXPECT_TRUE(differences(after, after).empty());
}

// O5
TEST(RegistryHistory, TellsOtherFilesByTheirLinesAndATargetsFileWhoseTargetsAreTheSame) {
  auto before = with_targets(kSms), after = with_targets(kSms);
  before["forms/a.yaml"] = "one\ntwo\ntwo\n";
  after["forms/a.yaml"] = "one\ntwo\nthree\n";
  after["templates/a.txt"] = "new";
  after["targets.json"] += "\n# a comment\n";
  const auto all = differences(before, after);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].file, "forms/a.yaml");
  EXPECT_EQ(all[0].before, "two\n");
  EXPECT_EQ(all[0].after, "three\n");
  EXPECT_EQ(all[1].file, "targets.json");
  EXPECT_EQ(all[1].after, "# a comment\n");
  EXPECT_EQ(all[2].file, "templates/a.txt");
  EXPECT_FALSE(all[2].before);
}

// O5
TEST(RegistryHistory, KeepsNoKeyAndNothingHidden) {
  const TempFolder folder;
  const std::string key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
  write_file(folder.path() / "targets.json", "{}");
  write_file(folder.path() / "client.key", key);
  write_file(folder.path() / "client.pem", "-----BEGIN CERTIFICATE-----\n");
  write_file(folder.path() / "account.json", "{\"private_key\": \"" + key + "\"}");
  write_file(folder.path() / ".hidden.json", "{}");
  std::filesystem::create_directory(folder.path() / "templates");
  write_file(folder.path() / "templates/a.subject", "Hello");
  write_file(folder.path() / "templates/key.txt", key);
  const auto files = read_registry_files(folder.path());
  ASSERT_TRUE(files) << files.error();
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ(files->at("targets.json"), "{}");
  EXPECT_EQ(files->at("templates/a.subject"), "Hello");
}

// O5
TEST(RegistryHistory, ItsDigestTellsNamesAndContentsApart) {
  EXPECT_NE(digest_of({{"a", "b"}}), digest_of({{"a", "c"}}));
  EXPECT_NE(digest_of({{"a", "b"}}), digest_of({{"b", "b"}}));
  EXPECT_EQ(digest_of({{"a", "b"}}).size(), 16u);
}

}  // namespace
}  // namespace waybill::testing
