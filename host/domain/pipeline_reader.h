// Reads pipeline files: every field, then the whole (pipeline_check.h).
#pragma once

#include <string>

#include "base/error.h"
#include "base/problem.h"
#include "domain/pipeline.h"

namespace waybill {

// Of Waybill's own, or of the registry: only the former may use own actions, events, the order "attempted", and words of their
// own in the audit. What is stored was in a registry once and is not checked as a whole again.
enum class PipelineOrigin { registry, built_in, stored };

// All problems are found, not only the first; each names `file`, line and field. JSON with full-line # comments.
tl::expected<Pipeline, Problems> read_pipeline(const std::string& text, const std::string& file,
                                               PipelineOrigin origin = PipelineOrigin::registry);

}  // namespace waybill
