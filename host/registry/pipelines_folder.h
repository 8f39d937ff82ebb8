// registry/pipelines/*.json: one pipeline a file, checked with the targets that it calls and the pipelines that it starts.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/problem.h"
#include "domain/pipeline_definition.h"
#include "registry/time_limits.h"

namespace waybill {

// `find` knows the targets; `limits` gets one for each action with a `timeout`. Sorted by name.
std::vector<std::shared_ptr<const PipelineDefinition>> load_pipelines(
    const std::filesystem::path& folder, const std::function<const Contract*(const std::string&)>& find, Problems& problems,
    ActionLimits& limits);

}  // namespace waybill
