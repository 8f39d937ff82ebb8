// The prefix is the folder above that of the program, which is bin/.
#include "config/installed_paths.h"

#include <system_error>

namespace waybill::config {

std::filesystem::path installed_folder(const std::filesystem::path& path) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || program.parent_path().filename() != "bin") return {};
  const auto folder = program.parent_path().parent_path() / path;
  return std::filesystem::is_directory(folder, error) ? folder : std::filesystem::path();
}

}  // namespace waybill::config
