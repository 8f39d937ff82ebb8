// The families of the objective, kept by prometheus-cpp.
#include "telemetry/objective.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace waybill {
namespace {

constexpr std::array<const char*, Objective::kEnds> kEndWords{"within", "late", "rejected", "exhausted"};
constexpr std::string_view kOther = "other";

}  // namespace

Objective::Objective(prometheus::Registry& registry)
    : ends_(prometheus::BuildCounter()
                .Name("waybill_objective_ends_total")
                .Help("Deliveries that ended, by whether they were accepted within waybill_objective_seconds.")
                .Register(registry)),
      overdue_(prometheus::BuildGauge()
                   .Name("waybill_objective_overdue")
                   .Help("Deliveries that are open for longer than waybill_objective_seconds, in the whole installation.")
                   .Register(registry)),
      seconds_(prometheus::BuildGauge()
                   .Name("waybill_objective_seconds")
                   .Help("The time from acknowledgement within which deliveries are to be accepted.")
                   .Register(registry)
                   .Add({})) {}

void Objective::promise(double seconds) { seconds_.Set(seconds); }

void Objective::ended(OrgId org, std::string_view target, const Counts& counts) {
  const std::lock_guard lock(mutex_);
  if (const auto known = names_.find(org); known != names_.end()) return count(known->second, target, counts);
  const std::pair key(org, std::string(target));
  if (series_.size() >= kMaxObjectives || (waiting_.size() >= kMaxObjectives && !waiting_.contains(key)))
    return count(std::string(kOther), kOther, counts);
  auto& waiting = waiting_[key];
  for (std::size_t end = 0; end < kEnds; ++end) waiting[end] += counts[end];
}

std::vector<OrgId> Objective::unnamed() {
  const std::lock_guard lock(mutex_);
  std::vector<OrgId> orgs;
  for (const auto& [key, counts] : waiting_)
    if (orgs.empty() || orgs.back() != key.first) orgs.push_back(key.first);
  return orgs;
}

void Objective::name(OrgId org, std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto& known = names_.emplace(org, name).first->second;
  auto one = waiting_.lower_bound({org, std::string()});
  while (one != waiting_.end() && one->first.first == org) {
    count(known, one->first.second, one->second);
    one = waiting_.erase(one);
  }
}

void Objective::overdue(std::span<const Overdue> all) {
  const std::lock_guard lock(mutex_);
  std::map<Series*, std::uint64_t> counts;
  for (const auto& one : all) counts[&series(one.organisation, one.target)] += one.count;
  for (auto& [pair, of_pair] : series_) {
    const auto found = counts.find(&of_pair);
    of_pair.overdue->Set(found == counts.end() ? 0 : static_cast<double>(found->second));
  }
}

void Objective::count(const std::string& organisation, std::string_view target, const Counts& counts) {
  const auto& of_pair = series(organisation, target);
  for (std::size_t end = 0; end < kEnds; ++end)
    if (counts[end] > 0) of_pair.ends[end]->Increment(static_cast<double>(counts[end]));
}

// All of a pair's series are made at once: what has not happened yet is 0, and a rate sees the first time that it does.
Objective::Series& Objective::series(std::string_view organisation, std::string_view target) {
  Pair key(organisation, target);
  if (const auto known = series_.find(key); known != series_.end()) return known->second;
  if (series_.size() >= kMaxObjectives) key = Pair(kOther, kOther);
  if (const auto rest = series_.find(key); rest != series_.end()) return rest->second;
  const prometheus::Labels labels{{"organisation", key.first}, {"target", key.second}};
  Series made{};
  for (std::size_t end = 0; end < kEnds; ++end) {
    auto of_end = labels;
    of_end["end"] = kEndWords[end];
    made.ends[end] = &ends_.Add(of_end);
  }
  made.overdue = &overdue_.Add(labels);
  return series_.emplace(std::move(key), made).first->second;
}

}  // namespace waybill
