// Reads the folders of plugins.
#include "senders/plugin_candidates.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "plugin_library/plugin_file.h"
#include "plugin_library/plugin_folder.h"
#include "plugin_library/plugin_library.h"
#include "senders/plugin_trial.h"
#include "senders/process_plugin.h"

namespace waybill {
namespace {

namespace fs = std::filesystem;

struct PluginFile {
  std::string name;  // see PluginFolders
  fs::path path;
  std::string mark;  // enough to tell the file from the next of its name
};

// Of two plugins with all else equal the first has the action type: those of the first folder do.
bool comes_before(const std::string& a, const std::string& b) {
  return std::pair(a.starts_with('/'), std::string_view(a)) < std::pair(b.starts_with('/'), std::string_view(b));
}

RefusedPlugin refused(const std::string& file, const std::string& reason_and_remedy) {
  const auto end = reason_and_remedy.find('\n');
  return {file, reason_and_remedy.substr(0, end), end == std::string::npos ? "" : reason_and_remedy.substr(end + 1)};
}

fs::path place_of(const fs::path& folder) {
  std::error_code unknown;
  const auto real = fs::canonical(folder, unknown);
  return unknown ? folder : real;
}

bool is_executables_folder(const std::filesystem::path& path) {
  return path.extension() == kPluginFolderSuffix && std::filesystem::is_directory(path);
}

std::string mark_of(const fs::path& path) {
  struct stat found {};
  if (path.extension() == ".so" && stat(path.c_str(), &found) == 0)
    return std::to_string(found.st_size) + ' ' + std::to_string(found.st_ino) + ' ' + std::to_string(found.st_mtim.tv_sec) + '.' +
           std::to_string(found.st_mtim.tv_nsec);
  if (is_executables_folder(path)) return mark_of_folder(path);
  return path.extension() == kPluginFolderSuffix ? "no folder" : "";
}

// By name. Folders that cannot be trusted are refused as a whole; false if the first is.
bool list_files(const PluginFolders& folders, std::vector<PluginFile>& files, std::vector<RefusedPlugin>& refused_folders) {
  const auto list = [&](const fs::path& folder, bool is_first) {
    if (auto fault = fault_in_folder(folder)) {
      refused_folders.push_back({folder.string(), fault->reason, fault->remedy});
      return false;
    }
    const auto place = place_of(folder);
    std::error_code error;
    for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error)) {
      const auto& path = entry->path();
      if (auto mark = mark_of(path); !mark.empty())
        files.push_back({is_first ? path.filename().string() : path.string(), path, std::move(mark)});
    }
    return true;
  };
  if (!list(folders.first, true)) return false;
  for (const auto& folder : folders.others) list(folder, false);
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return comes_before(a.name, b.name); });
  return true;
}

std::vector<std::string> types_of(const Descriptor& descriptor) {
  std::vector<std::string> types;
  for (const auto& action : descriptor.actions) types.push_back(action.type.name);
  return types;
}

Isolation configured(const Isolations& isolations, const std::string& type) {
  const auto found = isolations.by_type.find(type);
  return found != isolations.by_type.end() ? found->second : Isolation{.mode = IsolationMode::process};
}

PluginCandidate candidate_of(const PluginFile& file, Descriptor descriptor, IsolationChoice isolation) {
  PluginCandidate candidate{.file = file.name,
                            .mark = file.mark,
                            .id = std::move(descriptor.id),
                            .version = std::move(descriptor.version),
                            .abi_minor = descriptor.abi_minor,
                            .actions = {},
                            .why_in_place = {},
                            .process = nullptr,
                            .isolation = std::move(isolation)};
  for (auto& action : descriptor.actions) candidate.actions.push_back(std::make_shared<const LoadedAction>(std::move(action)));
  return candidate;
}

// What became of a file that may run in a process: none of the two if it is to be loaded into the host.
struct Described {
  std::optional<PluginCandidate> candidate;
  std::optional<RefusedPlugin> refused;
};

template <class Choose>
Described describe(const PluginFile& file, Result<std::unique_ptr<ProcessPlugin>> plugin, Choose choose) {
  if (!plugin) return {std::nullopt, refused(file.name, plugin.error().what)};
  auto descriptor = (*plugin)->take_descriptor();
  auto choice = choose(types_of(descriptor));
  if (choice.mode == IsolationMode::in_process) return {};
  auto candidate = candidate_of(file, std::move(descriptor), std::move(choice));
  candidate.process = std::move(*plugin);
  return {std::move(candidate), std::nullopt};
}

Described describe_executable(const PluginFile& file, const PluginTerms& terms) {
  auto folder = read_plugin_folder(file.path);
  if (!folder) return {std::nullopt, refused(file.name, folder.error().what)};
  for (const auto& type : types_of(folder->descriptor))
    if (configured(terms.isolations, type).mode == IsolationMode::in_process)
      return {std::nullopt, RefusedPlugin{file.name, "it is an executable, which cannot run inside of the host",
                                          "take `isolation: in_process` out of senders." + type}};
  const auto isolation = configured(terms.isolations, folder->descriptor.actions.front().type.name);
  return describe(file, ProcessPlugin::of_folder(std::move(*folder), terms.program, isolation), [](const auto&) {
    return IsolationChoice{IsolationMode::process, "it is an executable"};
  });
}

Described describe_library(const PluginFile& file, const PluginTerms& terms) {
  if (!may_choose_process(terms.isolations, file.name)) return {};
  const auto isolation = configured(terms.isolations, file.path.stem().string());
  return describe(file, ProcessPlugin::of_library(file.path, terms.program, isolation),
                  [&](const auto& types) { return choose_isolation(terms.isolations, file.name, types); });
}

Described describe_in_process(const PluginFile& file, const PluginTerms& terms) {
  if (is_executables_folder(file.path)) return describe_executable(file, terms);
  if (file.path.extension() == kPluginFolderSuffix)
    return {std::nullopt,
            RefusedPlugin{file.name, "it is a file", "an executable is a folder with a plugin.json: docs/plugin-protocol.md"}};
  return describe_library(file, terms);
}

// All that a plugin does while it is loaded, for a process that may come to harm by it.
void try_file(const fs::path& file, const SenderSettings& settings) {
  const auto loaded = load_file(file);
  if (!loaded) return;
  for (const auto& action : loaded->descriptor.actions)
    if (const auto json = choice_of(settings, action.type.name).settings; action.settings.check(json).empty())
      ask_plugin(action.action->validate_settings, json);
}

// Files that may be loaded here, after one that may not is refused.
std::vector<PluginFile> tried(std::vector<PluginFile> files, const SenderSettings& settings,
                              std::vector<RefusedPlugin>& refused_files) {
  std::vector<fs::path> paths;
  for (const auto& file : files) paths.push_back(file.path);
  const auto faults = try_in_child(paths, [&](const auto& path) { try_file(path, settings); });
  std::vector<PluginFile> harmless;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (faults[i].empty())
      harmless.push_back(std::move(files[i]));
    else
      refused_files.push_back({files[i].name, "a process that loaded it came to harm: " + faults[i],
                               "see what `waybill plugin check " + paths[i].string() + "` finds, and mend the plugin"});
  return harmless;
}

// Its place is the one that it would have now.
bool is_in_place(const PluginCandidate& plugin, const Isolations& isolations) {
  if (plugin.file.ends_with(kPluginFolderSuffix)) return true;
  std::vector<std::string> types;
  for (const auto& action : plugin.actions) types.push_back(action->type.name);
  return choose_isolation(isolations, plugin.file, types).mode == plugin.isolation.mode;
}

const PluginCandidate* find(const std::vector<PluginCandidate>& all, std::string_view file) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.file == file; });
  return found == all.end() ? nullptr : &*found;
}

bool has_type(const std::vector<PluginCandidate>& all, std::string_view type) {
  return std::any_of(all.begin(), all.end(), [&](const auto& one) {
    return std::any_of(one.actions.begin(), one.actions.end(), [&](const auto& action) { return action->type.name == type; });
  });
}

void sort(FoundPlugins& found) {
  const auto by_file = [](const auto& a, const auto& b) { return comes_before(a.file, b.file); };
  std::stable_sort(found.usable.begin(), found.usable.end(), by_file);
  std::stable_sort(found.refused.begin(), found.refused.end(), by_file);
}

}  // namespace

FoundPlugins find_plugins(const PluginFolders& folders, const PluginTerms& terms) {
  FoundPlugins found;
  std::vector<PluginFile> files, for_this_process;
  if (!list_files(folders, files, found.refused)) return found;
  for (auto& file : files) {
    auto described = describe_in_process(file, terms);
    if (described.candidate)
      found.usable.push_back(std::move(*described.candidate));
    else if (described.refused)
      found.refused.push_back(std::move(*described.refused));
    else
      for_this_process.push_back(std::move(file));
  }
  for (const auto& file : tried(std::move(for_this_process), terms.settings, found.refused)) {
    auto loaded = load_file(file.path);
    if (!loaded) {
      found.refused.push_back(refused(file.name, loaded.error().what));
      continue;
    }
    auto choice = choose_isolation(terms.isolations, file.name, types_of(loaded->descriptor));
    auto& added = found.usable.emplace_back(candidate_of(file, std::move(loaded->descriptor), std::move(choice)));
    added.why_in_place = std::move(loaded->why_in_place);
  }
  sort(found);
  return found;
}

FoundPlugins find_plugins_again(const PluginFolders& folders, const PluginTerms& terms,
                                const std::vector<PluginCandidate>& before) {
  FoundPlugins found;
  std::vector<PluginFile> files;
  if (!list_files(folders, files, found.refused)) {
    found.usable = before;
    return found;
  }
  for (const auto& file : files) {
    const auto* was = find(before, file.name);
    if (was != nullptr && was->mark == file.mark && is_in_place(*was, terms.isolations)) {
      found.usable.push_back(*was);
      continue;
    }
    auto described = describe_in_process(file, terms);
    if (described.candidate) {
      found.usable.push_back(std::move(*described.candidate));
      continue;
    }
    if (was != nullptr) found.usable.push_back(*was);
    if (described.refused)
      found.refused.push_back(std::move(*described.refused));
    else
      found.not_taken.push_back({file.name, was == nullptr                           ? "new"
                                            : was->process && was->mark == file.mark ? "configured to run in the host"
                                                                                     : "replaced"});
  }
  for (const auto& was : before) {
    if (std::any_of(files.begin(), files.end(), [&](const auto& file) { return file.name == was.file; })) continue;
    const bool is_missed = std::any_of(was.actions.begin(), was.actions.end(),
                                       [&](const auto& action) { return !has_type(found.usable, action->type.name); });
    if (was.process && !is_missed) continue;
    found.usable.push_back(was);
    found.not_taken.push_back({was.file, "gone"});
  }
  sort(found);
  return found;
}

}  // namespace waybill
