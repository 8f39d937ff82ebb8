// A configuration file in a folder of its own, gone at the end of the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "config/config.h"

namespace waybill::testing {

class WrittenFile {
 public:
  explicit WrittenFile(std::string_view text) {
    auto pattern = (std::filesystem::temp_directory_path() / "waybill-config-XXXXXX").string();
    if (!mkdtemp(pattern.data())) std::abort();
    folder_ = pattern;
    std::ofstream(path(), std::ios::binary) << text;
  }
  ~WrittenFile() { std::filesystem::remove_all(folder_); }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path() const { return folder_ / "waybill.yaml"; }

 private:
  std::filesystem::path folder_;
};

inline std::string joined(const Problems& problems) {
  std::string text;
  for (const auto& problem : problems) text += to_string(problem) + "\n";
  return text;
}

}  // namespace waybill::testing
