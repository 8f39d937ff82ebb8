// The program of a plugin's process.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

struct wb_plugin;

namespace waybill::plugin_process {

// Loads a shared library and checks what it says of itself. An error says what is wrong and, after a line break, what would help.
struct OpenedPlugin {
  const wb_plugin* plugin;
  std::string descriptor;  // JSON
};
using OpenPlugin = std::function<Result<OpenedPlugin>(const std::filesystem::path& library)>;

// `words`: the plugin's name, the host's process, limits (isolation.h), "--", and, of an executable, its folder and its command.
// Returns only if it was started by hand, or cannot go on: the exit code.
int run_plugin_host(const std::vector<std::string>& words, const OpenPlugin& open);

}  // namespace waybill::plugin_process
