// Where `cmake --install` put what this program needs, wherever its prefix is now.
#pragma once

#include <filesystem>

namespace waybill::config {

// The folder at `path` below the prefix of the running program ("lib/waybill/plugins"); "" if there is none.
std::filesystem::path installed_folder(const std::filesystem::path& path);

}  // namespace waybill::config
