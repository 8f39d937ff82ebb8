// Medians, and ratios that compare round with round.
#include "bench/figures.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace waybill::bench {
namespace {

TEST(TheMedian, IsTheMiddleOrBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({5}), 5);
  EXPECT_EQ(median({9, 1, 4}), 4);
  EXPECT_EQ(median({9, 1, 4, 6}), 5);
  EXPECT_EQ(quantile({1, 2, 3, 4, 5}, 1), 5);
}

TEST(ARatio, IsTheMedianOfTheRoundsNotTheRatioOfTheMedians) {
  // In the second round the machine was slow for both.
  EXPECT_EQ(median_ratio({100, 20, 90}, {50, 10, 30}), 2);
}

TEST(ARatio, NeedsARoundWithBoth) {
  EXPECT_EQ(median_ratio({}, {1}), std::nullopt);
  EXPECT_EQ(median_ratio({1}, {0}), std::nullopt);
  EXPECT_EQ(median_ratio({6, 7}, {3}), 2);
}

TEST(Figures, CollectTheRunsOfEachRival) {
  Figures figures{.name = "drain", .unit = "deliveries/s", .runs = {10, 30}};
  figures.compare("pg-boss", "jobs/s", 5);
  figures.compare("limit", "posts/s", 20);
  figures.compare("pg-boss", "jobs/s", 10);
  ASSERT_EQ(figures.against.size(), 2u);
  EXPECT_EQ(figures.against[0].runs, (std::vector<double>{5, 10}));
  EXPECT_EQ(figures.ratio("pg-boss"), 2.5);
  EXPECT_EQ(figures.ratio("limit"), 0.5);
  EXPECT_EQ(figures.ratio("graphile-worker"), std::nullopt);
}

TEST(Figures, AsJsonHaveTheirRatiosByName) {
  Figures figures{.name = "bulk", .unit = "rows/s", .runs = {10, 30, 20}};
  for (const double run : {5.0, 15.0, 10.0}) figures.compare("graphile-worker", "jobs/s", run);
  figures.detail("clients", 4);
  const auto expected = nlohmann::json::parse(R"({
    "name": "bulk", "unit": "rows/s", "runs": [10.0, 30.0, 20.0], "median": 20.0, "ratios": {"graphile-worker": 2.0},
    "against": {"graphile-worker": {"unit": "jobs/s", "runs": [5.0, 15.0, 10.0], "median": 10.0}}, "details": {"clients": 4.0}})");
  EXPECT_EQ(nlohmann::json(as_json(figures)), expected);
}

}  // namespace
}  // namespace waybill::bench
