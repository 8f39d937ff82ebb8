// The plugins of tests/bad_plugins, for suites that are built with WAYBILL_BAD_PLUGINS.
#pragma once

#include <filesystem>
#include <string>

namespace waybill::testing {

inline std::filesystem::path bad_plugin(const std::string& name) {
  return std::filesystem::path(WAYBILL_BAD_PLUGINS) / (name + ".so");
}

}  // namespace waybill::testing
