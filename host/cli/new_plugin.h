// `waybill plugin new`: the source of a small, whole plugin for an action type that is not there yet.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

namespace waybill {

struct GlobalOptions;

enum class PluginLanguage { cpp, c, blocking, python, typescript };  // blocking: C++ with a client library that waits

struct NewPlugin {
  std::filesystem::path folder;
  std::vector<std::string> files;  // relative to it
};

// Writes plugin-api/template/, template_c/, template_blocking/, template_python/ or template_typescript/, with `name` for the
// template's own, into parent/name, or parent/name.plugin for an executable, which must not be there, or be empty. Either all of
// it is written or nothing.
Result<NewPlugin> write_new_plugin(const std::string& name, const std::filesystem::path& parent,
                                   PluginLanguage language = PluginLanguage::cpp);

// The command: does that, and prints what it wrote and what to do next. The exit code.
int new_plugin(const GlobalOptions& options, const std::string& name, const std::filesystem::path& parent,
               PluginLanguage language);

}  // namespace waybill
