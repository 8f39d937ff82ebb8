// The figures of one run: a table for people, and JSON to compare over time.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/bar.h"
#include "bench/figures.h"

namespace waybill::bench {

class Report {
 public:
  explicit Report(bool judged) : judged_(judged) {}  // whether the bar, which speaks of certain sizes, is held against it

  void add(Figures figures);  // prints its lines at once
  void add_failure(const std::string& measure, const std::string& why);
  bool failed() const { return !failures_.empty(); }
  void setting(const std::string& name, const std::string& value) { settings_[name] = value; }
  void print_bar() const;
  std::string json() const;

 private:
  std::vector<std::pair<const BarRow*, std::string>> rows() const;  // of the bar, with what was measured of each

  const bool judged_;
  std::vector<Figures> all_;
  std::vector<std::pair<std::string, std::string>> failures_;  // measure and reason
  std::map<std::string, std::string> settings_;
};

// Throws if no file can be written there: to be asked before the work is done, not after it.
void check_writable(const std::filesystem::path& file);

}  // namespace waybill::bench
