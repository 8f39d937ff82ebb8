// Reads a folder of plugins.
#include "senders/plugin_candidates.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>

#include "plugin_library/plugin_file.h"
#include "plugin_library/plugin_folder.h"
#include "plugin_library/plugin_library.h"
#include "senders/plugin_trial.h"
#include "senders/process_plugin.h"

namespace waybill {
namespace {

namespace fs = std::filesystem;
using FileMarks = std::map<std::string, std::string>;  // enough to tell one file from the next of its name

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

FileMarks marks_in(const fs::path& folder) {
  FileMarks marks;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    auto& mark = marks[entry->path().filename().string()];
    struct stat found {};
    if (entry->path().extension() == ".so" && stat(entry->path().c_str(), &found) == 0)
      mark = std::to_string(found.st_size) + ' ' + std::to_string(found.st_ino) + ' ' + std::to_string(found.st_mtim.tv_sec) +
             '.' + std::to_string(found.st_mtim.tv_nsec);
    else if (is_executables_folder(entry->path()))
      mark = mark_of_folder(entry->path());
    if (mark.empty()) marks.erase(entry->path().filename().string());
  }
  return marks;
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

PluginCandidate candidate_of(const std::string& file, const std::string& mark, Descriptor descriptor, IsolationChoice isolation) {
  PluginCandidate candidate{.file = file,
                            .mark = mark,
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
Described describe(const std::string& name, const std::string& mark, Result<std::unique_ptr<ProcessPlugin>> plugin,
                   Choose choose) {
  if (!plugin) return {std::nullopt, refused(name, plugin.error().what)};
  auto descriptor = (*plugin)->take_descriptor();
  auto choice = choose(types_of(descriptor));
  if (choice.mode == IsolationMode::in_process) return {};
  auto candidate = candidate_of(name, mark, std::move(descriptor), std::move(choice));
  candidate.process = std::move(*plugin);
  return {std::move(candidate), std::nullopt};
}

Described describe_executable(const fs::path& path, const std::string& mark, const PluginTerms& terms) {
  const auto name = path.filename().string();
  auto folder = read_plugin_folder(path);
  if (!folder) return {std::nullopt, refused(name, folder.error().what)};
  for (const auto& type : types_of(folder->descriptor))
    if (configured(terms.isolations, type).mode == IsolationMode::in_process)
      return {std::nullopt, RefusedPlugin{name, "it is an executable, which cannot run inside of the host",
                                          "take `isolation: in_process` out of senders." + type}};
  const auto isolation = configured(terms.isolations, folder->descriptor.actions.front().type.name);
  return describe(name, mark, ProcessPlugin::of_folder(std::move(*folder), terms.program, isolation), [](const auto&) {
    return IsolationChoice{IsolationMode::process, "it is an executable"};
  });
}

Described describe_library(const fs::path& file, const std::string& mark, const PluginTerms& terms) {
  const auto name = file.filename().string();
  if (!may_choose_process(terms.isolations, name)) return {};
  const auto isolation = configured(terms.isolations, file.stem().string());
  return describe(name, mark, ProcessPlugin::of_library(file, terms.program, isolation),
                  [&](const auto& types) { return choose_isolation(terms.isolations, name, types); });
}

Described describe_in_process(const fs::path& path, const std::string& mark, const PluginTerms& terms) {
  return is_executables_folder(path) ? describe_executable(path, mark, terms) : describe_library(path, mark, terms);
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
std::vector<fs::path> tried(std::vector<fs::path> files, const SenderSettings& settings,
                            std::vector<RefusedPlugin>& refused_files) {
  const auto faults = try_in_child(files, [&](const auto& file) { try_file(file, settings); });
  std::vector<fs::path> harmless;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (faults[i].empty())
      harmless.push_back(std::move(files[i]));
    else
      refused_files.push_back({files[i].filename().string(), "a process that loaded it came to harm: " + faults[i],
                               "see what `waybill plugin check " + files[i].string() + "` finds, and mend the plugin"});
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
  const auto by_file = [](const auto& a, const auto& b) { return a.file < b.file; };
  std::stable_sort(found.usable.begin(), found.usable.end(), by_file);
  std::stable_sort(found.refused.begin(), found.refused.end(), by_file);
}

}  // namespace

FoundPlugins find_plugins(const fs::path& folder, const PluginTerms& terms) {
  FoundPlugins found;
  if (auto fault = fault_in_folder(folder)) {
    found.refused.push_back({folder.string(), fault->reason, fault->remedy});
    return found;
  }
  const auto marks = marks_in(folder);
  const auto place = place_of(folder);
  std::vector<fs::path> for_this_process;
  for (const auto& [name, mark] : marks) {
    const auto path = place / name;
    auto described = describe_in_process(path, mark, terms);
    if (described.candidate)
      found.usable.push_back(std::move(*described.candidate));
    else if (described.refused)
      found.refused.push_back(std::move(*described.refused));
    else
      for_this_process.push_back(path);
  }
  for (const auto& file : tried(std::move(for_this_process), terms.settings, found.refused)) {
    const auto name = file.filename().string();
    auto loaded = load_file(file);
    if (!loaded) {
      found.refused.push_back(refused(name, loaded.error().what));
      continue;
    }
    auto choice = choose_isolation(terms.isolations, name, types_of(loaded->descriptor));
    auto& added = found.usable.emplace_back(candidate_of(name, marks.at(name), std::move(loaded->descriptor), std::move(choice)));
    added.why_in_place = std::move(loaded->why_in_place);
  }
  sort(found);
  return found;
}

FoundPlugins find_plugins_again(const fs::path& folder, const PluginTerms& terms, const std::vector<PluginCandidate>& before) {
  FoundPlugins found;
  if (auto fault = fault_in_folder(folder)) {
    found.usable = before;
    found.refused.push_back({folder.string(), fault->reason, fault->remedy});
    return found;
  }
  const auto marks = marks_in(folder);
  const auto place = place_of(folder);
  for (const auto& [name, mark] : marks) {
    const auto* was = find(before, name);
    if (was != nullptr && was->mark == mark && is_in_place(*was, terms.isolations)) {
      found.usable.push_back(*was);
      continue;
    }
    auto described = describe_in_process(place / name, mark, terms);
    if (described.candidate) {
      found.usable.push_back(std::move(*described.candidate));
      continue;
    }
    if (was != nullptr) found.usable.push_back(*was);
    if (described.refused)
      found.refused.push_back(std::move(*described.refused));
    else
      found.not_taken.push_back({name, was == nullptr                      ? "new"
                                       : was->process && was->mark == mark ? "configured to run in the host"
                                                                           : "replaced"});
  }
  for (const auto& was : before) {
    if (marks.contains(was.file)) continue;
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
