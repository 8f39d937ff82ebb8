// The permissions of a plugin: its file and folder must belong to root or to our user, and no other user may write to them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace waybill {

struct FileFault {
  std::string reason;
  std::string remedy;
};

std::optional<FileFault> fault_in_folder(const std::filesystem::path& folder);
std::optional<FileFault> fault_in_file(const std::filesystem::path& file);

}  // namespace waybill
