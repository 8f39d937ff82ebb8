// Waybill's own pipelines: intent, form and notification. Files like those of the registry, carried along in the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "domain/pipeline.h"

namespace waybill {

// In alphabetical order. They live as long as the program.
const std::vector<Pipeline>& builtin_pipelines();
const Pipeline& builtin_pipeline(std::string_view name);

// The transition from a state by a trigger, which must be there.
const PipelineTransition& builtin_transition(std::string_view pipeline, std::string_view from, std::string_view trigger,
                                             std::string_view to);

}  // namespace waybill
