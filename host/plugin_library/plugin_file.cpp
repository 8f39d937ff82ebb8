// Who may have written a plugin: its file and its folder must belong to root or to us, and nobody else may write to them.
#include "plugin_library/plugin_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace waybill {
namespace {

std::optional<FileFault> fault(const std::filesystem::path& path, const struct stat& found) {
  if (found.st_uid != 0 && found.st_uid != geteuid())
    return FileFault{"it belongs to user id " + std::to_string(found.st_uid),
                     "make it belong to root or to the user that runs waybill"};
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return FileFault{"others than its owner may write to it", "chmod go-w " + path.string()};
  return std::nullopt;
}

std::optional<FileFault> unreadable() {
  return FileFault{std::generic_category().message(errno), "check the path and its permissions"};
}

}  // namespace

std::optional<FileFault> fault_in_folder(const std::filesystem::path& folder) {
  struct stat found {};
  if (stat(folder.c_str(), &found) != 0) return unreadable();
  if (!S_ISDIR(found.st_mode)) return FileFault{"it is not a folder", "name the folder that holds the plugins"};
  return fault(folder, found);
}

std::optional<FileFault> fault_in_file(const std::filesystem::path& file) {
  struct stat found {};
  if (lstat(file.c_str(), &found) != 0) return unreadable();
  if (!S_ISREG(found.st_mode))
    return FileFault{"it is not a regular file", "put the file itself into the folder, not a link to it"};
  return fault(file, found);
}

}  // namespace waybill
