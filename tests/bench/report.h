// The figures: a table for people, JSON for comparison over time.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace waybill::bench {

struct Figures {
  std::string name, unit;
  std::vector<double> runs;
  std::map<std::string, double> ratios;                 // to another of the same run, by its name
  std::vector<std::pair<std::string, double>> details;  // what was seen beside it, with its unit in the name

  void detail(std::string what, double value) { details.emplace_back(std::move(what), value); }
};

double median(std::vector<double> values);                  // 0 of none
double quantile(std::vector<double> values, double share);  // 0 of none
// The median of the ratios round by round: both figures of a round met the same noise.
double median_ratio(const std::vector<double>& figures, const std::vector<double>& limits);

class Report {
 public:
  void add(Figures figures);  // prints its lines at once
  void setting(const std::string& name, const std::string& value) { settings_[name] = value; }
  void write_json(const std::filesystem::path& file) const;

 private:
  std::vector<Figures> all_;
  std::map<std::string, std::string> settings_;
};

}  // namespace waybill::bench
