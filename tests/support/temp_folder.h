// A folder of a test's own below /tmp, gone with all it holds when the test is over.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace waybill::testing {

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Writes or replaces a file whole, so that no reader sees half of it.
void write_file(const std::filesystem::path& file, std::string_view text);
// "" when there is no such file.
std::string read_file(const std::filesystem::path& file);

}  // namespace waybill::testing
