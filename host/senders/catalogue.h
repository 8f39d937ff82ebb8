// The plugins of one folder: loaded and checked, or refused by name. Hides Boost.DLL.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "domain/action_types.h"
#include "telemetry/log.h"

struct wb_action;

namespace waybill {

struct LoadedPlugin {
  std::string file;  // file name in the folder
  std::string id;
  std::string version;
  std::uint32_t abi_minor = 0;
  std::vector<std::string> action_types;
};

struct RefusedPlugin {
  std::string file;
  std::string reason;  // what is wrong
  std::string remedy;  // what would fix it
};

class Catalogue final : public ActionTypes {
 public:
  // Loads every *.so of `folder`, in order of name. Never fails as a whole: unusable plugins are in refused().
  static std::unique_ptr<Catalogue> load(const std::filesystem::path& folder);
  ~Catalogue() override;

  const ActionType* find(std::string_view name) const override;
  std::vector<std::string> names() const override;
  Problems check_destination(std::string_view action_type, const std::string& json) const override;
  Problems check_settings(std::string_view action_type, const std::string& json) const override;

  const std::vector<LoadedPlugin>& loaded() const;
  const std::vector<RefusedPlugin>& refused() const;
  // The plugin of an action type, null if there is none.
  const LoadedPlugin* plugin_of(std::string_view action_type) const;
  // The C descriptor of an action type, null if there is none. Lives as long as the process.
  const wb_action* action(std::string_view name) const;

 private:
  Catalogue();
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace waybill
