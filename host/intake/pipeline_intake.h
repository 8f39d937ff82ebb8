// Takes in submissions of pipelines and people's decisions about them, and wakes the claimer.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "store/pipeline_store.h"

namespace waybill {

// Each call is a transaction on a session of the caller. Safe from any thread.
class PipelineIntake {
 public:
  // `is_due` is called after each commit that may have made deliveries due.
  explicit PipelineIntake(std::function<void()> is_due) : is_due_(std::move(is_due)) {}

  // As PipelineStore has them.
  Result<std::vector<SubmitResult>> submit(PipelineStore& store, std::span<const NewPipelineSubmission> submissions) const {
    auto stored = store.submit(submissions);
    if (stored) is_due_();
    return stored;
  }
  Result<TransitionResult> transition(PipelineStore& store, OrgId org, const std::string& client_ref,
                                      const ManualTransition& wanted) const {
    auto moved = store.transition(org, client_ref, wanted);
    if (moved && moved->how == TransitionResult::How::moved) is_due_();
    return moved;
  }

 private:
  const std::function<void()> is_due_;
};

}  // namespace waybill
