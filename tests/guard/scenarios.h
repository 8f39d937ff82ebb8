// What is counted: pieces of the hot path, each by a name that baseline.json knows.
#pragma once

#include <span>
#include <string_view>

namespace waybill::guard {

struct Scenario {
  std::string_view name;
  void (*run)();  // throws std::runtime_error when the result is not the one that was meant to be counted
};

std::span<const Scenario> deciding_scenarios();
std::span<const Scenario> claiming_scenarios();
std::span<const Scenario> wire_scenarios();
std::span<const Scenario> drain_scenarios();

}  // namespace waybill::guard
