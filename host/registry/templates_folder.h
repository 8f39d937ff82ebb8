// registry/templates/: one file a part, ID.subject, ID.txt and ID.html, compiled when they are read.
#pragma once

#include <filesystem>

#include "core/error.h"
#include "core/problem.h"
#include "core/templates.h"

namespace waybill {

// A folder that is not there holds no templates. Each problem names file and line.
tl::expected<Templates, Problems> load_templates(const std::filesystem::path& folder);

}  // namespace waybill
