// Whether a stage's answer is a result that its pipeline can go on with.
#pragma once

#include <string>

#include "domain/contract.h"
#include "domain/outcome.h"

namespace waybill {

// What is wrong with an accepted outcome's result; "" if nothing is, or the outcome is not accepted.
std::string result_fault(const Outcome& outcome, const StageTerms& stage);

}  // namespace waybill
