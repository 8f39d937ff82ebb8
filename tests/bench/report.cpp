// Medians, lines and JSON.
#include "bench/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/usage.h"
#include "support/temp_folder.h"

namespace waybill::bench {
namespace {

std::string shown(double value) {
  char text[64];
  std::snprintf(text, sizeof text, std::abs(value) >= 100 ? "%.0f" : std::abs(value) >= 10 ? "%.1f" : "%.2f", value);
  return text;
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double median_ratio(const std::vector<double>& figures, const std::vector<double>& limits) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(figures.size(), limits.size()); ++i)
    if (limits[i] > 0) ratios.push_back(figures[i] / limits[i]);
  return median(std::move(ratios));
}

void Report::add(Figures figures) {
  if (all_.empty()) std::printf("%-22s %10s %10s %10s  %s\n", "", "min", "median", "max", "unit");
  const auto [least, most] = std::minmax_element(figures.runs.begin(), figures.runs.end());
  if (!figures.runs.empty())
    std::printf("%-22s %10s %10s %10s  %s\n", figures.name.c_str(), shown(*least).c_str(), shown(median(figures.runs)).c_str(),
                shown(*most).c_str(), figures.unit.c_str());
  for (const auto& [name, ratio] : figures.ratios)
    std::printf("  %-31s %10s\n", ("ratio to " + name).c_str(), shown(ratio).c_str());
  for (const auto& [name, value] : figures.details) std::printf("  %-31s %10s\n", name.c_str(), shown(value).c_str());
  std::fflush(stdout);
  all_.push_back(std::move(figures));
}

void Report::write_json(const std::filesystem::path& file) const {
  using Json = nlohmann::ordered_json;
  Json benches = Json::array();
  for (const auto& figures : all_) {
    Json details = Json::object();
    for (const auto& [name, value] : figures.details) details[name] = value;
    benches.push_back({{"name", figures.name},
                       {"unit", figures.unit},
                       {"runs", figures.runs},
                       {"median", median(figures.runs)},
                       {"ratios", figures.ratios},
                       {"details", std::move(details)}});
  }
  const Machine machine = this_machine();
  const Json all{{"benches", std::move(benches)},
                 {"settings", settings_},
                 {"machine", {{"cores", machine.cores}, {"cpu", machine.cpu}, {"memory_mb", std::round(machine.memory_mb)}}}};
  testing::write_file(file, all.dump(2) + "\n");
}

}  // namespace waybill::bench
