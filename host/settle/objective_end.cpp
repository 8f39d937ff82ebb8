// Ends as the objective counts them.
#include "settle/objective_end.h"

#include <utility>

namespace waybill {

std::string delivery_target(const Contract& contract) {
  if (contract.is_of_form()) return "form:" + contract.form_id;
  return contract.is_of_channel() ? "channel:" + contract.target : contract.target;
}

std::optional<Objective::End> objective_end(const Contract& contract, Status status, Micros took, Millis promised) {
  if (contract.is_of_channel() || contract.is_of_stage()) return std::nullopt;
  switch (status) {
    case Status::accepted:
      return took <= promised ? Objective::End::within : Objective::End::late;
    case Status::rejected:
      return Objective::End::rejected;
    case Status::exhausted:
      return Objective::End::exhausted;
    default:
      return std::nullopt;
  }
}

void ObjectiveRun::add(OrgId org, const Contract& contract, Status status, Micros took) {
  const auto end = objective_end(contract, status, took, promised_);
  if (!end) return;
  if (contract_ != &contract) flush();
  contract_ = &contract;
  org_ = org;
  ++counts_[static_cast<std::size_t>(*end)];
}

void ObjectiveRun::flush() {
  if (contract_ != nullptr) objective_.ended(org_, delivery_target(*contract_), counts_);
  contract_ = nullptr;
  counts_ = {};
}

}  // namespace waybill
