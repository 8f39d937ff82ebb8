// Reading a small file as a whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <tl/expected.hpp>

namespace waybill {

struct UnreadFile {
  enum class Why { missing, not_a_file, failed } why{};
  std::string reason;  // why it failed, in the system's words; "not a file"; "No such file or directory"
};

// The text of a file, but no more than one byte beyond `most`, which is enough to be refused. Nothing is waited for: a pipe, a
// device or a folder is not read.
tl::expected<std::string, UnreadFile> read_file(const std::filesystem::path& file, std::size_t most);

}  // namespace waybill
