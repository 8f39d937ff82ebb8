// Which deliveries the service level objective is about, and what their ends are to it.
#pragma once

#include <optional>
#include <string>

#include "base/id.h"
#include "domain/contract.h"
#include "domain/status.h"
#include "telemetry/objective.h"

namespace waybill {

// What digests and metrics call it: a target of the registry by its name, so that commands take it.
std::string delivery_target(const Contract& contract);

// None: it has not ended, or the objective is not about it. Deliveries to channels are held back on purpose, and pipelines have
// service levels of their own.
std::optional<Objective::End> objective_end(const Contract& contract, Status status, Micros took, Millis promised);

// Ends of one contract come one after the other: they are counted together. flush() counts what is left.
class ObjectiveRun {
 public:
  ObjectiveRun(Objective& objective, Millis promised) : objective_(objective), promised_(promised) {}
  void add(OrgId org, const Contract& contract, Status status, Micros took);
  void flush();

 private:
  Objective& objective_;
  const Millis promised_;
  const Contract* contract_ = nullptr;
  OrgId org_{};
  Objective::Counts counts_{};
};

}  // namespace waybill
