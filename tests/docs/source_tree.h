// Reading this repository's own files, for the tests that hold them to their rules.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace waybill::testing {

inline std::filesystem::path source_folder() { return WAYBILL_SOURCE_FOLDER; }

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Every file below a folder of the repository that has one of these extensions, as a path from the repository's root.
inline std::vector<std::filesystem::path> files_below(const std::string& folder, const std::vector<std::string>& extensions) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_folder() / folder, ignored))
    for (const auto& extension : extensions)
      if (entry.is_regular_file() && entry.path().extension() == extension)
        files.push_back(entry.path().lexically_relative(source_folder()));
  return files;
}

}  // namespace waybill::testing
