// The JSON of a run, and the file that it goes to.
#include "bench/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/temp_folder.h"

namespace waybill::bench {
namespace {

Report report_of_memory(bool judged) {
  Report report(judged);
  Figures memory{.name = "memory", .unit = "MB", .runs = {40}};
  memory.compare("small_backlog", "MB", 40);
  report.add(memory);
  return report;
}

TEST(AReport, HasItsFiguresTheBarAndTheMachine) {
  auto report = report_of_memory(true);
  report.setting("limits.in_flight", "2048");
  const auto json = nlohmann::json::parse(report.json());
  ASSERT_EQ(json["benches"].size(), 1u);
  EXPECT_EQ(json["benches"][0]["name"], "memory");
  EXPECT_EQ(json["benches"][0]["ratios"]["small_backlog"], 1);
  ASSERT_EQ(json["bar"].size(), 1u);  // only what was measured
  EXPECT_EQ(json["bar"][0]["met"], "goal");
  EXPECT_EQ(json["failures"], nlohmann::json::array());
  EXPECT_EQ(json["settings"]["limits.in_flight"], "2048");
  EXPECT_GT(json["machine"]["cores"], 0);
}

TEST(AReport, IsNotHeldAgainstTheBarAtOtherSizes) {
  EXPECT_EQ(nlohmann::json::parse(report_of_memory(false).json())["bar"], nlohmann::json::array());
}

TEST(AReport, KeepsItsFiguresWhenAMeasureFails) {
  auto report = report_of_memory(true);
  EXPECT_FALSE(report.failed());
  report.add_failure("slow", "the host said \xff");  // a log may hold any bytes
  EXPECT_TRUE(report.failed());
  const auto json = nlohmann::json::parse(report.json());
  EXPECT_EQ(json["benches"].size(), 1u);
  ASSERT_EQ(json["failures"].size(), 1u);
  EXPECT_EQ(json["failures"][0]["name"], "slow");
}

TEST(AFileForTheFigures, IsTriedWithoutLeavingATrace) {
  const testing::TempFolder folder;
  check_writable(folder.path() / "new.json");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "new.json"));
  testing::write_file(folder.path() / "old.json", "old");
  check_writable(folder.path() / "old.json");
  EXPECT_EQ(testing::read_file(folder.path() / "old.json"), "old");
}

TEST(AFileForTheFigures, CannotBeAFolderOrBelowNothing) {
  const testing::TempFolder folder;
  EXPECT_THROW(check_writable(folder.path()), std::runtime_error);
  EXPECT_THROW(check_writable(folder.path() / "missing/new.json"), std::runtime_error);
}

}  // namespace
}  // namespace waybill::bench
