// One check of one plugin, tried in a process of its own, and what became of it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "findings.h"
#include "waybill/conformance.h"

namespace waybill::conformance {

struct IsolatedCheck {
  std::function<void(Findings&)> body;  // run in the process of its own
  // What it left:
  std::vector<std::string> found;
  std::vector<std::string> skipped;
  std::vector<std::string> action_types;
  bool done = false;  // it came to its end; if not, `found` says what happened
};

// Several at a time, so that one that hangs does not hold up the others. Each has the time limit to itself.
void run_trials(std::vector<IsolatedCheck>& trials, std::chrono::milliseconds time_limit);

}  // namespace waybill::conformance
