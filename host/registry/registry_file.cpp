// Reading files of the registry folder.
#include "registry/registry_file.h"

#include <algorithm>
#include <system_error>

#include "base/file_text.h"
#include "base/json_document.h"

namespace waybill {

tl::expected<std::string, std::string> read_text(const std::filesystem::path& file) {
  return read_file(file, kMaxJsonBytes).map_error([](const UnreadFile& unread) { return "cannot be read: " + unread.reason; });
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder, Problems& problems) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  if (error == std::errc::no_such_file_or_directory) return files;
  for (; !error && at != fs::directory_iterator(); at.increment(error))
    if (at->path().filename().string().front() != '.') files.push_back(at->path());
  if (error) problems.push_back({folder.string(), 0, "", "cannot be read: " + error.message()});
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace waybill
