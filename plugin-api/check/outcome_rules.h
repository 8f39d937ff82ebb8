// The rules of plugin.h that concern an outcome alone. Each function returns "" or what is wrong.
#pragma once

#include <string>

#include "records.h"

namespace waybill::conformance {

std::string fault_in_numbers(const Outcome& outcome);  // verdict, reach, scope, time
std::string fault_in_reason(const Outcome& outcome, const wb_action& action);
std::string fault_in_words(const Outcome& outcome);  // UTF-8, one line
std::string fault_in_sizes(const Outcome& outcome);
std::string fault_in_result(const Outcome& outcome);
std::string secret_in(const Outcome& outcome);

bool holds_secret(const std::string& text);

}  // namespace waybill::conformance
