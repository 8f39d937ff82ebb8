// Files of the registry folder, as text.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/problem.h"

namespace waybill {

// At most one byte more than a registry file may have, which is enough to be refused. An error ends a sentence about the file.
tl::expected<std::string, std::string> read_text(const std::filesystem::path& file);

// The regular files of a folder in order of name, hidden ones left out. None if the folder is not there.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder, Problems& problems);

}  // namespace waybill
