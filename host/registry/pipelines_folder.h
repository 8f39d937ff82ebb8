// registry/pipelines/*.json: one pipeline a file, checked with the targets that it calls and the pipelines that it starts.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/problem.h"
#include "domain/pipeline_definition.h"

namespace waybill {

// `find` knows the targets. Sorted by name.
std::vector<std::shared_ptr<const PipelineDefinition>> load_pipelines(
    const std::filesystem::path& folder, const std::function<const Contract*(const std::string&)>& find, Problems& problems);

}  // namespace waybill
