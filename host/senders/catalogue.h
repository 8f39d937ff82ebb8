// The plugins of a host's folders: loaded and checked, or refused by name.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/isolation.h"
#include "domain/action_types.h"
#include "senders/plugin_candidates.h"

struct wb_action;

namespace waybill {

struct LoadedPlugin {
  std::string file;  // see PluginFolders
  std::string id;
  std::string version;
  std::uint32_t abi_minor = 0;
  std::vector<std::string> action_types;
  IsolationChoice isolation;
  std::vector<std::string> not_isolated{};  // what this machine does not keep those from
  std::string why_in_place;  // why it was loaded from its file, which must not be written over; "": from a copy of it
};

// An action type of a plugin that another plugin has as well.
struct SupersededAction {
  std::string file;
  std::string version;
  std::string action_type;
  std::string by;  // whose action type is used instead; "": nobody's
  std::string by_version;
  std::string wanted;  // the version that the operator wants; "": the newest
};
std::string words_of(const SupersededAction& one);

inline const Isolations kAllInHost{.by_type = {}, .others = IsolationMode::in_process, .says_others = true};

// Safe from any thread.
class Catalogue final : public ActionTypes {
 public:
  // Loads every *.so of the folders, in order of name, from copies in memory, and describes every *.plugin. Never fails as a
  // whole: unusable plugins are in refused(), in order of name. What ends, crashes or hangs a process while it is loaded, or
  // while it checks its settings, does so in a child process, and is refused. What `isolations` puts into a process is never
  // loaded here, but by `program`; "": waybill-plugin-host beside this program.
  static std::unique_ptr<Catalogue> load(const PluginFolders& folders, const SenderSettings& settings = {},
                                         const Isolations& isolations = kAllInHost, const std::filesystem::path& program = {});
  ~Catalogue() override;

  const ActionType* find(std::string_view name) const override;
  std::vector<std::string> names() const override;
  Problems check_destination(std::string_view action_type, const std::string& json) const override;
  Problems check_settings(std::string_view action_type, const std::string& json) const override;
  Problems check_payload(std::string_view action_type, const std::string& json) const override;

  const std::vector<LoadedPlugin>& loaded() const;
  const std::vector<RefusedPlugin>& refused() const;
  // Of two plugins with one action type the newer has it, or the one that `plugin_version` in its settings names.
  const std::vector<SupersededAction>& superseded() const;

  // What is in the folders now, as far as a running host can take it up: see find_plugins_again(). Nothing of this one changes.
  std::unique_ptr<Catalogue> renewed(const SenderSettings& settings, const Isolations& isolations) const;
  const std::vector<ChangedPlugin>& not_taken() const;  // what only a restart takes up
  // From now on this one says what `next` does. What it gave before stays good.
  void take(const Catalogue& next);

  // The plugin of an action type, null if there is none.
  const LoadedPlugin* plugin_of(std::string_view action_type) const;
  std::string name_of(std::string_view action_type) const;  // its plugin's id and version, for people; "" if there is none
  // Where an action type's plugin runs, if that is in processes of its own; else null.
  std::shared_ptr<ProcessPlugin> process_plugin(std::string_view action_type) const;
  // The C descriptor of an action type, null if there is none, or if it runs in a process. Lives as long as this process.
  const wb_action* action(std::string_view name) const;

 private:
  struct Contents;
  Catalogue(PluginFolders folders, std::filesystem::path program, FoundPlugins found, const SenderSettings& settings);
  const Contents* contents() const { return contents_.load(std::memory_order_acquire); }

  const PluginFolders folders_;
  const std::filesystem::path program_;
  std::atomic<const Contents*> contents_{nullptr};
  mutable std::mutex mutex_;                          // for all below
  std::vector<PluginCandidate> candidates_;           // of the contents in force
  std::vector<std::shared_ptr<const Contents>> all_;  // that were in force: what they gave stays good
};

}  // namespace waybill
