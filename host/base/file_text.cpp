// The one loop over the bytes of a file.
#include "base/file_text.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace waybill {
namespace {

tl::unexpected<UnreadFile> failed(const std::error_code& error) {
  return tl::unexpected(UnreadFile{UnreadFile::Why::failed, error.message()});
}
std::error_code last_error() { return {errno, std::generic_category()}; }

}  // namespace

tl::expected<std::string, UnreadFile> read_file(const std::filesystem::path& file, std::size_t most) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found)
    return tl::unexpected(UnreadFile{UnreadFile::Why::missing, std::generic_category().message(ENOENT)});
  if (error) return failed(error);
  if (!std::filesystem::is_regular_file(status)) return tl::unexpected(UnreadFile{UnreadFile::Why::not_a_file, "not a file"});
  std::ifstream in(file, std::ios::binary);
  if (!in) return failed(last_error());
  std::string text;
  for (char chunk[1 << 16]; text.size() <= most && (in.read(chunk, sizeof chunk), in.gcount() > 0);)
    text.append(chunk, std::min(static_cast<std::size_t>(in.gcount()), most + 1 - text.size()));
  if (in.bad()) return failed(last_error());
  return text;
}

}  // namespace waybill
