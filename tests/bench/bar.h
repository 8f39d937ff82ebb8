// What the measures are held against: for each a figure that must be met and one that is aimed at.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/figures.h"

namespace waybill::bench {

inline constexpr std::string_view kBestPeer = "best peer";  // in the place of a name in `against`: whoever of the two was fastest

// One comparison. Holds if the figure is at least (a rate) or at most (a time, memory) the bound.
struct Condition {
  std::string_view figures;  // by name
  std::string_view against;  // the ratio to this one; "" for the median itself
  enum class Side { at_least, at_most } side;
  double bound;
  std::string_view label;  // what the figure is, after its number
};

struct BarRow {
  std::string_view measure, must_words, goal_words;
  std::vector<Condition> must, goal;  // all of them
};

const std::vector<BarRow>& bar();

enum class Verdict {
  not_measured,  // something that the must needs is not there
  missed,
  met,       // the must; not the goal, or it is not all there
  goal_met,  // both
};
std::string_view word(Verdict verdict);

// The figure that a condition speaks of; none if it was not measured.
std::optional<double> figure_of(const Condition& condition, std::span<const Figures> all);
Verdict judge(const BarRow& row, std::span<const Figures> all);
// The figures of both columns, each once, with its label: "2.9 x the best peer, 0.52 of the curl loop".
std::string measured_words(const BarRow& row, std::span<const Figures> all);

std::string shown(double value);  // with about three digits

}  // namespace waybill::bench
