// The rules of the form pipeline.
#include "domain/form_pipeline.h"

namespace waybill {

Readiness readiness_of(bool finalized, const ScanCounts& scans) {
  if (scans.infected > 0) return Readiness::infected;
  return finalized && scans.clean == scans.attachments ? Readiness::run : Readiness::wait;
}

FormStep next_step(std::span<const ActionState> actions, Timestamp now) {
  bool all_ended = true, all_done = true;
  for (const auto& action : actions) {
    if (action.status == Status::waiting) return {action.delivery, {}};
    const bool had_its_turn =
        is_end(action.status) || action.attempts > 0 || (action.status == Status::due && now - action.due >= kTurn);
    if (!had_its_turn) return {};
    all_ended &= is_end(action.status);
    all_done &= action.status == Status::accepted || action.status == Status::deferred;
  }
  if (!all_ended) return {};
  return {std::nullopt, all_done ? "routed" : "failed"};
}

}  // namespace waybill
