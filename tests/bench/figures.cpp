// Medians, ratios and their JSON.
#include "bench/figures.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace waybill::bench {

void Figures::compare(const std::string& with, const std::string& their_unit, double their_run) {
  auto known = std::find_if(against.begin(), against.end(), [&](const Compared& one) { return one.name == with; });
  if (known == against.end()) known = against.insert(known, {with, their_unit, {}});
  known->runs.push_back(their_run);
}

std::optional<double> Figures::ratio(std::string_view to) const {
  for (const auto& one : against)
    if (one.name == to) return median_ratio(runs, one.runs);
  return std::nullopt;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

std::optional<double> median_ratio(const std::vector<double>& figures, const std::vector<double>& limits) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(figures.size(), limits.size()); ++i)
    if (limits[i] > 0) ratios.push_back(figures[i] / limits[i]);
  return ratios.empty() ? std::nullopt : std::optional(median(std::move(ratios)));
}

nlohmann::ordered_json as_json(const Figures& figures) {
  using Json = nlohmann::ordered_json;
  Json ratios = Json::object(), against = Json::object(), details = Json::object();
  for (const auto& one : figures.against) {
    if (const auto ratio = figures.ratio(one.name)) ratios[one.name] = *ratio;
    against[one.name] = {{"unit", one.unit}, {"runs", one.runs}, {"median", median(one.runs)}};
  }
  for (const auto& [name, value] : figures.details) details[name] = value;
  return {{"name", figures.name},           {"unit", figures.unit},        {"runs", figures.runs},
          {"median", median(figures.runs)}, {"ratios", std::move(ratios)}, {"against", std::move(against)},
          {"details", std::move(details)}};
}

}  // namespace waybill::bench
