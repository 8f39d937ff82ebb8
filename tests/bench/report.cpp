// Lines and JSON.
#include "bench/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/bar.h"
#include "bench/usage.h"

namespace waybill::bench {
namespace {

void print_runs(const std::string& name, const std::vector<double>& runs, const std::string& unit) {
  const auto [least, most] = std::minmax_element(runs.begin(), runs.end());
  std::printf("%-26s %9s %9s %9s  %s", name.c_str(), shown(*least).c_str(), shown(median(runs)).c_str(), shown(*most).c_str(),
              unit.c_str());
}

}  // namespace

void Report::add(Figures figures) {
  if (all_.empty()) std::printf("%-26s %9s %9s %9s\n", "", "min", "median", "max");
  if (!figures.runs.empty()) {
    print_runs(figures.name, figures.runs, figures.unit);
    std::printf("\n");
  }
  for (const auto& one : figures.against) {
    print_runs("  " + one.name, one.runs, one.unit);
    if (const auto ratio = figures.ratio(one.name)) std::printf("; ratio %s", shown(*ratio).c_str());
    std::printf("\n");
  }
  for (const auto& [name, value] : figures.details) std::printf("  %-34s %9s\n", name.c_str(), shown(value).c_str());
  std::fflush(stdout);
  all_.push_back(std::move(figures));
}

void Report::add_failure(const std::string& measure, const std::string& why) {
  std::fprintf(stderr, "waybill_bench: %s failed: %s\n", measure.c_str(), why.c_str());
  failures_.emplace_back(measure, why);
}

std::vector<std::pair<const BarRow*, std::string>> Report::rows() const {
  std::vector<std::pair<const BarRow*, std::string>> measured;
  for (const auto& row : bar())
    if (auto words = measured_words(row, all_); judged_ && !words.empty()) measured.emplace_back(&row, std::move(words));
  return measured;
}

void Report::print_bar() const {
  if (!judged_) std::printf("\nThe bar speaks of the default sizes: nothing is said of these.\n");
  bool begun = false;
  const auto print = [](std::string_view measure, std::string_view must, std::string_view goal, std::string_view measured,
                        std::string_view met) {
    std::printf("%-42s %-21s %-41s %-42s %s\n", std::string(measure).c_str(), std::string(must).c_str(),
                std::string(goal).c_str(), std::string(measured).c_str(), std::string(met).c_str());
  };
  for (const auto& [row, measured] : rows()) {
    if (!begun) {
      std::printf("\n");
      print("the bar", "must", "goal", "measured", "met");
      begun = true;
    }
    print(row->measure, row->must_words, row->goal_words, measured, word(judge(*row, all_)));
  }
  std::fflush(stdout);
}

std::string Report::json() const {
  using Json = nlohmann::ordered_json;
  Json benches = Json::array(), held = Json::array(), failures = Json::array();
  for (const auto& figures : all_) benches.push_back(as_json(figures));
  for (const auto& [row, measured] : rows())
    held.push_back({{"measure", row->measure},
                    {"must", row->must_words},
                    {"goal", row->goal_words},
                    {"measured", measured},
                    {"met", word(judge(*row, all_))}});
  for (const auto& [measure, why] : failures_) failures.push_back({{"name", measure}, {"why", why}});
  const Machine machine = this_machine();
  const Json all{{"benches", std::move(benches)},
                 {"bar", std::move(held)},
                 {"failures", std::move(failures)},
                 {"settings", settings_},
                 {"machine", {{"cores", machine.cores}, {"cpu", machine.cpu}, {"memory_mb", std::round(machine.memory_mb)}}}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";  // a log may hold any bytes
}

void check_writable(const std::filesystem::path& file) {
  const bool was_there = std::filesystem::exists(file);
  const bool writable = !std::filesystem::is_directory(file) && std::ofstream(file, std::ios::app).good();
  if (!writable) throw std::runtime_error("cannot write " + file.string());
  if (!was_there) std::filesystem::remove(file);
}

}  // namespace waybill::bench
