// registry/templates/: one file a part, ID.subject, ID.txt and ID.html, compiled when they are read.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "base/problem.h"
#include "templates/templates.h"

namespace waybill {

// A folder that is not there holds no templates. Each problem names file and line.
tl::expected<Templates, Problems> load_templates(const std::filesystem::path& folder);

}  // namespace waybill
