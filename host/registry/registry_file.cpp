// Reading files of the registry folder.
#include "registry/registry_file.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/json_document.h"

namespace waybill {

tl::expected<std::string, std::string> read_text(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (error) return tl::unexpected("cannot be read: " + error.message());
  if (!std::filesystem::is_regular_file(status)) return tl::unexpected(std::string("cannot be read: not a file"));
  std::ifstream in(file, std::ios::binary);
  if (!in) return tl::unexpected("cannot be read: " + std::generic_category().message(errno));
  std::string text;  // one byte more than allowed is enough to be refused
  for (char chunk[1 << 16]; text.size() <= kMaxJsonBytes && (in.read(chunk, sizeof chunk), in.gcount() > 0);)
    text.append(chunk, static_cast<std::size_t>(in.gcount()));
  if (in.bad()) return tl::unexpected("cannot be read: " + std::generic_category().message(errno));
  return text;
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
