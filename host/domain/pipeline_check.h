// What only shows in a whole pipeline: states that nothing reaches or leaves, guards that overlap or leave a gap, loops without
// an end.
#pragma once

#include "base/problem.h"
#include "domain/contract.h"
#include "domain/pipeline.h"

namespace waybill {

// The names in it are known to be right. Problems name line and field.
Problems check_pipeline(const Pipeline& pipeline, const std::string& file);

// The values of a stage's result that its guards compare, each of one type only. A result that lacks one is no result.
std::vector<NeededValue> needed_values(const Pipeline& pipeline, const PipelineState& state);

}  // namespace waybill
