// An executable as a plugin of the C ABI, so that the checks of plugins hold it to the same rules.
#pragma once

#include <filesystem>

#include "base/error.h"

struct wb_plugin;

namespace waybill {

// The plugin in the folder at `path`, with a process of its own for each sender that lives. For a process that holds it to its
// end, and whose one thread is the strand: each function of it comes back when the plugin has nothing to do until something
// comes, and throws std::runtime_error if the plugin's process died, or says that a rule was broken. Once per process.
Result<const wb_plugin*> open_executable(const std::filesystem::path& path);

}  // namespace waybill
