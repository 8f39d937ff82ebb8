// A plugin folder of a test's own, with copies of some of the test plugins in it: named by their files in tests/bad_plugins, or
// from there ("../compat/...").
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "support/bad_plugins.h"

namespace waybill::testing {

class PluginFolder {
 public:
  PluginFolder(std::initializer_list<const char*> plugins) {
    std::string name = ::testing::TempDir() + "pluginsXXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
    for (const std::string plugin : plugins) add(plugin, std::filesystem::path(plugin + ".so").filename());
  }
  ~PluginFolder() { std::filesystem::remove_all(path_); }
  PluginFolder(const PluginFolder&) = delete;
  PluginFolder& operator=(const PluginFolder&) = delete;

  std::filesystem::path add(const std::string& plugin, const std::string& file) {
    const auto copy = path_ / file;
    std::filesystem::copy_file(bad_plugin(plugin), copy);
    std::filesystem::permissions(copy, std::filesystem::perms(0644));
    return copy;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace waybill::testing
