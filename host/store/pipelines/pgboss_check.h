// Which jobs of pg-boss may be handed in for a pipeline or a target: they lose no part of themselves, and can be sent.
#pragma once

#include <string>

#include "domain/action_types.h"
#include "domain/contract.h"
#include "domain/pipeline_definition.h"

namespace waybill {

// Why a job with this data (JSON; "" for none) must stay where it is; "": it may go. Its `onComplete` asks for another job after
// it: somebody must begin that one, and it is looked at likewise. A target begins nothing.
std::string fault_in_job(const std::string& data, const Contract& target, const ActionTypes& types);
// Of the first state's actions those are looked at that take a part of the payload.
std::string fault_in_job(const std::string& data, const PipelineDefinition& pipeline, const ActionTypes& types);

}  // namespace waybill
