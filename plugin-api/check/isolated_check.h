// Runs each check in a process of its own and reports how it ended.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "findings.h"
#include "waybill/conformance.h"

namespace waybill::conformance {

struct IsolatedCheck {
  std::function<void(Findings&)> body;  // runs in that process
  // What it reported:
  std::vector<std::string> found;
  std::vector<std::string> skipped;
  std::vector<std::string> action_types;
  bool done = false;  // the body returned; if not, `found` says what happened
};

// Runs several at a time, so that one that hangs does not hold up the others. The time limit is for each.
void run_isolated(std::vector<IsolatedCheck>& checks, std::chrono::milliseconds time_limit);

}  // namespace waybill::conformance
