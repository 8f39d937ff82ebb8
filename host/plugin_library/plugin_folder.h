// A plugin that is an executable of any language: a folder NAME.plugin with a plugin.json. docs/plugin-protocol.md describes
// both.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "plugin_library/plugin_descriptor.h"

namespace waybill {

inline constexpr const char* kPluginFolderSuffix = ".plugin";
inline constexpr const char* kPluginJson = "plugin.json";

struct PluginFolder {
  std::filesystem::path folder;
  Descriptor descriptor;
  std::string json;                         // of the file plugin.json
  std::vector<std::string> command;         // the program's path first
  std::vector<std::filesystem::path> read;  // what its process reads: the folder, the program, and the tree of its interpreter
  std::string mark;                         // differs when any file of the folder does
};

// Of all its files: names, sizes and times. "" if it cannot be read.
std::string mark_of_folder(const std::filesystem::path& folder);

// An error says what is wrong, in which field, and, after a line break, what would help.
Result<PluginFolder> read_plugin_folder(const std::filesystem::path& folder);

}  // namespace waybill
