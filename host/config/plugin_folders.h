// Where plugins lie.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace waybill {

// A plugin of the first folder is known by its file's name, one of another folder by its whole path.
struct PluginFolders {
  PluginFolders(std::filesystem::path first_) : first(std::move(first_)) {}
  PluginFolders(std::filesystem::path first_, std::vector<std::filesystem::path> others_)
      : first(std::move(first_)), others(std::move(others_)) {}

  std::filesystem::path path_of(const std::string& file) const { return first / file; }

  std::filesystem::path first;
  std::vector<std::filesystem::path> others;
};

}  // namespace waybill
