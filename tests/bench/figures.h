// What a measure has found: its runs, whom it was measured in turn with, and what was seen beside.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace waybill::bench {

// Somebody else's runs of the same work, one a round.
struct Compared {
  std::string name, unit;
  std::vector<double> runs;
};

struct Figures {
  std::string name, unit;
  std::vector<double> runs;  // one a round
  std::vector<Compared> against = {};
  std::vector<std::pair<std::string, double>> details = {};  // with the unit in the name

  void compare(const std::string& with, const std::string& their_unit, double their_run);  // of this round
  void detail(std::string what, double value) { details.emplace_back(std::move(what), value); }
  // Our figure divided by theirs, the median of the rounds: both of a round met the same noise. None without a round of both.
  std::optional<double> ratio(std::string_view to) const;
};

double median(std::vector<double> values);                  // 0 of none
double quantile(std::vector<double> values, double share);  // 0 of none
// The median of the ratios round by round; none if there is no round with both, and a limit above 0.
std::optional<double> median_ratio(const std::vector<double>& figures, const std::vector<double>& limits);

nlohmann::ordered_json as_json(const Figures& figures);

}  // namespace waybill::bench
