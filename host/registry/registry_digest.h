// What tells one state of the registry folder from another.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace waybill {

// 16 hexadecimal digits over the names and contents of all files of the folder, hidden ones left out; the same on every machine
// with the same files. What cannot be read counts as such.
std::string registry_digest(const std::filesystem::path& folder);

// All of these files, sorted.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder);
// A digest of names and contents: `all` gathers them, and comes to 16 digits.
void add_to_digest(std::string& all, std::string_view name, std::string_view content);
std::string finished_digest(std::string_view all);

}  // namespace waybill
