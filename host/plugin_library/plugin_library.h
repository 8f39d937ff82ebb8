// A plugin's shared library, loaded for good. Hides Boost.DLL.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"
#include "plugin_library/plugin_descriptor.h"

namespace waybill {

struct LoadedFile {
  Descriptor descriptor;
  std::string why_in_place;  // "" if it was loaded from a copy
};

// From a copy in memory if that is possible. An error says what is wrong and, after a line break, what would help.
Result<LoadedFile> load_file(const std::filesystem::path& file);

// The same from exactly this file, in a process of the plugin's own.
struct OpenedLibrary {
  const wb_plugin* plugin;
  Descriptor descriptor;
};
Result<OpenedLibrary> open_in_place(const std::filesystem::path& file);

}  // namespace waybill
