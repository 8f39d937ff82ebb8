// Results of stages: what the guards need of them.
#include "domain/result_check.h"

#include "domain/facts.h"

namespace waybill {

std::string result_fault(const Outcome& outcome, const StageTerms& stage) {
  if (outcome.verdict != Verdict::accepted) return {};
  if (!outcome.result_fault.empty()) return outcome.result_fault;
  if (stage.needed.empty()) return {};
  Facts facts;
  facts.set("/result", outcome.result);
  for (const auto& one : stage.needed) {
    const auto value = facts.value(Term{.at = "/result" + one.at});
    const bool is_right = one.type == "number"    ? std::holds_alternative<double>(value)
                          : one.type == "boolean" ? std::holds_alternative<bool>(value)
                                                  : std::holds_alternative<std::string>(value);
    if (!is_right) return "the result has no " + one.type + " at " + one.at;
  }
  return {};
}

}  // namespace waybill
