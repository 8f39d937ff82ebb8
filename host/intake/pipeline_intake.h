// Takes in submissions of pipelines and people's decisions about them, and wakes the claimer.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "intake/store_health.h"
#include "store/pipelines/pipeline_store.h"

namespace waybill {

// Each call is a transaction on a session of the caller. Safe from any thread.
class PipelineIntake {
 public:
  // `is_due` is called after each commit that may have made deliveries due; `health` learns how each call ended, unless null.
  explicit PipelineIntake(std::function<void()> is_due, StoreHealth* health = nullptr)
      : is_due_(std::move(is_due)), health_(health) {}

  // As PipelineStore has them.
  Result<std::vector<SubmitResult>> submit(PipelineStore& store, std::span<const NewPipelineSubmission> submissions) const {
    auto stored = store.submit(submissions);
    if (health_ != nullptr) health_->note(stored);
    if (stored) is_due_();
    return stored;
  }
  Result<TransitionResult> transition(PipelineStore& store, OrgId org, const std::string& client_ref,
                                      const ManualTransition& wanted) const {
    auto moved = store.transition(org, client_ref, wanted);
    if (health_ != nullptr) health_->note(moved);
    if (moved && moved->how == TransitionResult::How::moved) is_due_();
    return moved;
  }
  Result<Repairs> repair(PipelineStore& store, OrgId org, const RepairFilter& filter, const PipelineRepair& order) const {
    auto repaired = store.repair(org, filter, order);
    if (health_ != nullptr && !order.dry_run) health_->note(repaired);
    if (repaired && repaired->count > 0 && !order.dry_run) is_due_();
    return repaired;
  }

 private:
  const std::function<void()> is_due_;
  StoreHealth* const health_;
};

}  // namespace waybill
