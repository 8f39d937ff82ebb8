// The bar as data, and its verdicts.
#include "bench/bar.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace waybill::bench {
namespace {

constexpr auto kAtLeast = Condition::Side::at_least, kAtMost = Condition::Side::at_most;
constexpr std::string_view kPeers[] = {"graphile-worker", "pg-boss"};

bool holds(const Condition& condition, double figure) {
  return condition.side == kAtLeast ? figure >= condition.bound : figure <= condition.bound;
}

// The smallest ratio is the one to the fastest. Only if both were measured.
std::optional<double> ratio_to_best(const Figures& figures) {
  std::optional<double> least;
  for (const auto peer : kPeers) {
    const auto ratio = figures.ratio(peer);
    if (!ratio) return std::nullopt;
    least = std::min(least.value_or(*ratio), *ratio);
  }
  return least;
}

enum class Holds { yes, no, unknown };

Holds all_hold(const std::vector<Condition>& conditions, std::span<const Figures> all) {
  auto result = Holds::yes;
  for (const auto& condition : conditions) {
    const auto figure = figure_of(condition, all);
    if (figure && !holds(condition, *figure)) return Holds::no;
    if (!figure) result = Holds::unknown;
  }
  return result;
}

}  // namespace

const std::vector<BarRow>& bar() {
  static const std::vector<BarRow> rows{
      {"webhook drain, attempts and audit durable",
       "2.2 x the best peer",
       "3 x, and 0.7 of a bare curl loop",
       {{"drain", kBestPeer, kAtLeast, 2.2, "x the best peer"}},
       {{"drain", kBestPeer, kAtLeast, 3, "x the best peer"}, {"drain", "limit", kAtLeast, 0.7, "of the curl loop"}}},
      {"no-op drain",
       "the best peer",
       "1.3 x",
       {{"noop", kBestPeer, kAtLeast, 1, "x the best peer"}},
       {{"noop", kBestPeer, kAtLeast, 1.3, "x the best peer"}}},
      {"single durable intents, 32 connections",
       "4 x pg-boss",
       "5,500/s and 0.65 of grouped commits",
       {{"ingest", "pg-boss", kAtLeast, 4, "x pg-boss"}},
       {{"ingest", "", kAtLeast, 5500, "/s"}, {"ingest", "limit", kAtLeast, 0.65, "of the commits"}}},
      {"bulk intake",
       "1 x graphile-worker",
       "2 x",
       {{"bulk", "graphile-worker", kAtLeast, 1, "x graphile-worker"}},
       {{"bulk", "graphile-worker", kAtLeast, 2, "x graphile-worker"}}},
      {"POST to first byte, idle, p50 / p99",
       "3 / 9 ms",
       "2 / 6 ms",
       {{"latency", "", kAtMost, 3, "ms p50"}, {"latency_p99", "", kAtMost, 9, "ms p99"}},
       {{"latency", "", kAtMost, 2, "ms p50"}, {"latency_p99", "", kAtMost, 6, "ms p99"}}},
      {"receiver takes 1 s, 4,000 in flight",
       "0.9 of ideal",
       "0.95, and 10,000/s with 15,000 in flight",
       {{"slow", "limit", kAtLeast, 0.9, "of ideal"}},
       {{"slow", "limit", kAtLeast, 0.95, "of ideal"}, {"slow_wide", "", kAtLeast, 10'000, "/s with 15,000"}}},
      {"the same, one answer in 1,000 is 429",
       "0.8 of ideal",
       "0.9",
       {{"flapping", "limit", kAtLeast, 0.8, "of ideal"}},
       {{"flapping", "limit", kAtLeast, 0.9, "of ideal"}}},
      {"1 M pending against 10 k",
       "-20 %",
       "-10 %",
       {{"growth_pending", "growth", kAtLeast, 0.8, "of the speed"}},
       {{"growth_pending", "growth", kAtLeast, 0.9, "of the speed"}}},
      {"1 M finished against 10 k",
       "-20 %",
       "-10 %",
       {{"growth_finished", "growth", kAtLeast, 0.8, "of the speed"}},
       {{"growth_finished", "growth", kAtLeast, 0.9, "of the speed"}}},
      {"an old snapshot held open",
       "-30 %",
       "-15 %",
       {{"snapshot", "plain", kAtLeast, 0.7, "of the speed"}},
       {{"snapshot", "plain", kAtLeast, 0.85, "of the speed"}}},
      {"memory with a backlog of 1 M",
       "1.5 x that with 10 k",
       "150 MB",
       {{"memory", "small_backlog", kAtMost, 1.5, "x that with 10 k"}},
       {{"memory", "", kAtMost, 150, "MB"}}},
      {"over 100,000 targets, against one",
       "0.5 of the speed",
       "0.8",
       {{"many", "one_target", kAtLeast, 0.5, "of the speed"}},
       {{"many", "one_target", kAtLeast, 0.8, "of the speed"}}},
      {"a newcomer beside 100,000 busy targets, p99",
       "2.5 x a bare commit beside them",
       "1.5 x",
       {{"many_newcomer", "bare_commit", kAtMost, 2.5, "x a bare commit"}},
       {{"many_newcomer", "bare_commit", kAtMost, 1.5, "x a bare commit"}}},
      {"1,000 organisations with one each, beside a million, p99",
       "2 x quiet",
       "1.2 x",
       {{"many_orgs_at_once", "quiet", kAtMost, 2, "x quiet at once"},
        {"many_orgs_spread", "quiet", kAtMost, 2, "x quiet spread"}},
       {{"many_orgs_at_once", "quiet", kAtMost, 1.2, "x quiet at once"},
        {"many_orgs_spread", "quiet", kAtMost, 1.2, "x quiet spread"}}},
      {"beside 50 endpoints that hang, p99",
       "2 x quiet",
       "1.2 x",
       {{"hanging", "quiet", kAtMost, 2, "x quiet"}},
       {{"hanging", "quiet", kAtMost, 1.2, "x quiet"}}},
      {"good clients beside 2,000 slow ones, 1,000 strangers and a member's bad batches, p99",
       "2 x quiet (3 x beside batches), 100 MB",
       "1.5 x quiet",
       {{"hostile", "quiet", kAtMost, 2, "x quiet"},
        {"hostile_batches", "quiet", kAtMost, 3, "x quiet beside batches"},
        {"hostile_memory", "", kAtMost, 100, "MB"},
        {"hostile_bodies", "", kAtMost, 600, "MB with bodies"}},
       {{"hostile", "quiet", kAtMost, 1.5, "x quiet"}, {"hostile_batches", "quiet", kAtMost, 1.5, "x quiet beside batches"}}},
      {"drain while retention deletes",
       "-10 %",
       "-5 %",
       {{"retention", "plain", kAtLeast, 0.9, "of the speed"}},
       {{"retention", "plain", kAtLeast, 0.95, "of the speed"}}},
      {"back after an outage of 60 s, no attempt used up",
       "5 s",
       "2 s",
       {{"outage", "", kAtMost, 5, "s"}, {"outage_attempts", "", kAtMost, 0, "attempts used up"}},
       {{"outage", "", kAtMost, 2, "s"}}},
      {"memory with bodies of 1 MiB, all places taken",
       "512 MB",
       "256 MB",
       {{"memory_large", "", kAtMost, 512, "MB"}},
       {{"memory_large", "", kAtMost, 256, "MB"}}},
      {"a plugin in a process of its own, beside one in the host's",
       "0.7 of drain, 0.5 of noop, 1.2 x p50, 12 MB, 10,000/s in Python",
       "0.85, 0.7",
       {{"isolated", "in_process", kAtLeast, 0.7, "of drain"},
        {"isolated_noop", "in_process", kAtLeast, 0.5, "of noop"},
        {"isolated_latency", "in_process", kAtMost, 1.2, "x the p50"},
        {"isolated_memory", "", kAtMost, 12, "MB"},
        {"isolated_python", "", kAtLeast, 10'000, "/s in Python"}},
       {{"isolated", "in_process", kAtLeast, 0.85, "of drain"}, {"isolated_noop", "in_process", kAtLeast, 0.7, "of noop"}}},
  };
  return rows;
}

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::missed:
      return "MISSED";
    case Verdict::met:
      return "must";
    case Verdict::goal_met:
      return "goal";
    case Verdict::not_measured:
      break;
  }
  return "not measured";
}

std::optional<double> figure_of(const Condition& condition, std::span<const Figures> all) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Figures& one) { return one.name == condition.figures; });
  if (found == all.end() || found->runs.empty()) return std::nullopt;
  if (condition.against.empty()) return median(found->runs);
  return condition.against == kBestPeer ? ratio_to_best(*found) : found->ratio(condition.against);
}

Verdict judge(const BarRow& row, std::span<const Figures> all) {
  const auto must = all_hold(row.must, all);
  if (must != Holds::yes) return must == Holds::no ? Verdict::missed : Verdict::not_measured;
  return all_hold(row.goal, all) == Holds::yes ? Verdict::goal_met : Verdict::met;
}

std::string measured_words(const BarRow& row, std::span<const Figures> all) {
  std::string words;
  std::vector<std::string_view> labels;
  for (const auto* conditions : {&row.must, &row.goal})
    for (const auto& condition : *conditions) {
      const auto figure = figure_of(condition, all);
      if (!figure || std::find(labels.begin(), labels.end(), condition.label) != labels.end()) continue;
      labels.push_back(condition.label);
      words += (words.empty() ? "" : ", ") + shown(*figure) + (condition.label.starts_with('/') ? "" : " ");
      words += condition.label;
    }
  return words;
}

std::string shown(double value) {
  char text[64];
  std::snprintf(text, sizeof text, std::abs(value) >= 100 ? "%.0f" : std::abs(value) >= 10 ? "%.1f" : "%.2f", value);
  return text;
}

}  // namespace waybill::bench
