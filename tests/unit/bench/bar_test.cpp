// The verdicts: what is met, what is missed, and what cannot be said.
#include "bench/bar.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

namespace waybill::bench {
namespace {

const BarRow& row(std::string_view measure) {
  for (const auto& one : bar())
    if (one.measure.starts_with(measure)) return one;
  throw std::runtime_error("no such row");
}

// A drain at 100/s in one round.
Figures drain(double graphile, double pgboss, double limit) {
  Figures figures{.name = "drain", .unit = "deliveries/s", .runs = {100}};
  figures.compare("graphile-worker", "deliveries/s", graphile);
  figures.compare("pg-boss", "deliveries/s", pgboss);
  figures.compare("limit", "posts/s", limit);
  return figures;
}

Verdict verdict(std::string_view measure, const std::vector<Figures>& all) { return judge(row(measure), all); }

TEST(TheBar, IsMetByBeingSoMuchFasterThanTheFasterPeer) {
  EXPECT_EQ(verdict("webhook drain", {drain(45, 10, 1000)}), Verdict::met);
  EXPECT_EQ(verdict("webhook drain", {drain(10, 45, 1000)}), Verdict::met);
  EXPECT_EQ(verdict("webhook drain", {drain(46, 10, 1000)}), Verdict::missed);
  EXPECT_EQ(verdict("webhook drain", {drain(10, 46, 1000)}), Verdict::missed);
}

TEST(TheBar, HasAGoalThatNeedsAllOfItsConditions) {
  EXPECT_EQ(verdict("webhook drain", {drain(33, 33, 142)}), Verdict::goal_met);
  EXPECT_EQ(verdict("webhook drain", {drain(33, 33, 144)}), Verdict::met);
  EXPECT_EQ(verdict("webhook drain", {drain(34, 33, 142)}), Verdict::met);
}

TEST(TheBar, SaysNothingOfThePeersUnlessBothWereMeasured) {
  Figures figures{.name = "drain", .unit = "deliveries/s", .runs = {100}};
  figures.compare("limit", "posts/s", 100);
  EXPECT_EQ(verdict("webhook drain", {figures}), Verdict::not_measured);
  figures.compare("pg-boss", "deliveries/s", 1);
  EXPECT_EQ(verdict("webhook drain", {figures}), Verdict::not_measured);
  EXPECT_EQ(verdict("webhook drain", {}), Verdict::not_measured);
}

TEST(TheBar, WantsTimesAndMemoryToBeSmall) {
  const Figures p50{.name = "latency", .unit = "ms", .runs = {2.5}}, fast{.name = "latency", .unit = "ms", .runs = {2}};
  const Figures p99{.name = "latency_p99", .unit = "ms", .runs = {9}}, late{.name = "latency_p99", .unit = "ms", .runs = {9.1}};
  const Figures soon{.name = "latency_p99", .unit = "ms", .runs = {6}};
  EXPECT_EQ(verdict("POST to first byte", {p50, p99}), Verdict::met);
  EXPECT_EQ(verdict("POST to first byte", {p50, late}), Verdict::missed);
  EXPECT_EQ(verdict("POST to first byte", {fast, soon}), Verdict::goal_met);
}

TEST(TheBar, WantsOneWithVeryMuchToBeFeltLittleByAllOthers) {
  const auto waits = [](const char* name, double ms) {
    Figures figures{.name = name, .unit = "ms", .runs = {ms}};
    figures.compare("quiet", "ms", 10);
    return figures;
  };
  const auto verdict_of = [&](double at_once, double spread) {
    return verdict("1,000 organisations", {waits("many_orgs_at_once", at_once), waits("many_orgs_spread", spread)});
  };
  EXPECT_EQ(verdict_of(12, 12), Verdict::goal_met);
  EXPECT_EQ(verdict_of(20, 20), Verdict::met);
  EXPECT_EQ(verdict_of(12, 21), Verdict::missed);
  EXPECT_EQ(verdict_of(21, 12), Verdict::missed);
  EXPECT_EQ(verdict("1,000 organisations", {waits("many_orgs_at_once", 12)}), Verdict::not_measured);
  EXPECT_EQ(verdict("beside 50 endpoints", {waits("hanging", 20)}), Verdict::met);
  EXPECT_EQ(verdict("beside 50 endpoints", {waits("hanging", 21)}), Verdict::missed);
}

TEST(TheBar, MeasuresByTheMedianRound) {
  const Figures p99{.name = "latency_p99", .unit = "ms", .runs = {5}};
  EXPECT_EQ(verdict("POST to first byte", {{.name = "latency", .unit = "ms", .runs = {2, 50, 1}}, p99}), Verdict::goal_met);
}

TEST(TheBar, TellsWhatItWentBy) {
  EXPECT_EQ(measured_words(row("webhook drain"), std::vector{drain(50, 40, 125)}), "2.00 x the best peer, 0.80 of the curl loop");
  EXPECT_EQ(measured_words(row("webhook drain"), {}), "");
  const Figures ingest{.name = "ingest", .unit = "intents/s", .runs = {5600}};
  EXPECT_EQ(measured_words(row("single durable"), std::vector{ingest}), "5600/s");
}

TEST(TheBar, AsksForMoreInItsGoalsThanInItsMusts) {
  std::set<std::string_view> seen;
  for (const auto& one : bar()) {
    EXPECT_TRUE(seen.insert(one.measure).second) << one.measure;
    EXPECT_FALSE(one.must.empty() || one.goal.empty()) << one.measure;
    for (const auto& must : one.must)
      for (const auto& goal : one.goal) {
        if (must.figures != goal.figures || must.against != goal.against) continue;
        const bool more = must.side == Condition::Side::at_least ? goal.bound > must.bound : goal.bound < must.bound;
        EXPECT_TRUE(must.side == goal.side && more) << one.measure;
      }
  }
}

}  // namespace
}  // namespace waybill::bench
