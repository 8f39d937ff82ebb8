// The plugins of a host's folders, each with what it says of itself: loaded into this process, or described by a process of its
// own.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "config/isolation.h"
#include "config/plugin_folders.h"
#include "plugin_library/plugin_descriptor.h"
#include "senders/isolation_choice.h"
#include "senders/sender_settings.h"

namespace waybill {

class ProcessPlugin;

struct RefusedPlugin {
  std::string file;
  std::string reason;  // what is wrong
  std::string remedy;  // what would fix it
};

struct ChangedPlugin {
  std::string file;
  std::string how;  // "new", "replaced", "gone", "configured to run in the host"
};

struct PluginCandidate {
  std::string file;  // see PluginFolders
  std::string mark;  // differs when the file does
  std::string id, version;
  std::uint32_t abi_minor = 0;
  std::vector<std::shared_ptr<const LoadedAction>> actions;
  std::string why_in_place;                // see LoadedPlugin
  std::shared_ptr<ProcessPlugin> process;  // null: its code is in this process
  IsolationChoice isolation;
};

struct PluginTerms {
  const SenderSettings& settings;
  const Isolations& isolations;
  std::filesystem::path program;  // waybill-plugin-host; "": that beside this program
};

struct FoundPlugins {
  std::vector<PluginCandidate> usable;   // in order of file
  std::vector<RefusedPlugin> refused;    // the same
  std::vector<ChangedPlugin> not_taken;  // what only a restart takes up
};

// For a start: loads what is to run in this process. What ends, crashes or hangs a process while it is loaded, or while it checks
// its settings, does so in a child process, and is refused.
FoundPlugins find_plugins(const PluginFolders& folders, const PluginTerms& terms);

// For a running host: loads nothing into this process. What was found before, and can be neither replaced nor missed, stays.
FoundPlugins find_plugins_again(const PluginFolders& folders, const PluginTerms& terms,
                                const std::vector<PluginCandidate>& before);

}  // namespace waybill
