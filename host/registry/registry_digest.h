// What tells one state of the registry folder from another.
#pragma once

#include <filesystem>
#include <string>

namespace waybill {

// 16 hexadecimal digits over the names and contents of all files of the folder, hidden ones left out; the same on every machine
// with the same files. What cannot be read counts as such.
std::string registry_digest(const std::filesystem::path& folder);

}  // namespace waybill
