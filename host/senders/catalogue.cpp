// The plugins of one folder: loaded, handshaken, their settings checked, or refused by name.
#include "senders/catalogue.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "plugin_library/plugin_descriptor.h"
#include "plugin_library/plugin_file.h"
#include "plugin_library/plugin_library.h"
#include "plugin_protocol/plugin_text.h"
#include "senders/plugin_trial.h"
#include "senders/plugin_version.h"
#include "senders/process_plugin.h"

namespace waybill {
namespace {

RefusedPlugin refused(const std::string& file, const std::string& reason_and_remedy) {
  const auto end = reason_and_remedy.find('\n');
  return {file, reason_and_remedy.substr(0, end), end == std::string::npos ? "" : reason_and_remedy.substr(end + 1)};
}

// Enough to tell one file from the next of its name.
using FileMark = std::tuple<std::uintmax_t, std::filesystem::file_time_type, ino_t>;
using FileMarks = std::map<std::string, FileMark>;

FileMarks marks_in(const std::filesystem::path& folder) {
  FileMarks marks;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    struct stat found {};
    if (entry->path().extension() != ".so" || stat(entry->path().c_str(), &found) != 0) continue;
    std::error_code unknown;
    marks[entry->path().filename().string()] = {static_cast<std::uintmax_t>(found.st_size), entry->last_write_time(unknown),
                                                found.st_ino};
  }
  return marks;
}

struct NamedFile {
  std::string name;
  LoadedFile loaded;
  std::unique_ptr<ProcessPlugin> process;  // null: it is loaded into this process
};

bool wants_process(const Isolations& isolations, const std::string& action_type) {
  const auto found = isolations.find(action_type);
  return found != isolations.end() && found->second.mode == IsolationMode::process;
}

// Of those that the configuration puts into processes of their own. What none of its action types is known of is asked in such a
// process, too.
void take_process_plugins(std::vector<std::filesystem::path>& files, const Isolations& isolations,
                          const std::filesystem::path& program, std::vector<NamedFile>& usable,
                          std::vector<RefusedPlugin>& refused_files) {
  const bool any = std::any_of(isolations.begin(), isolations.end(),
                               [](const auto& one) { return one.second.mode == IsolationMode::process; });
  if (!any) return;
  std::erase_if(files, [&](const std::filesystem::path& file) {
    const auto name = file.filename().string();
    const auto configured = isolations.find(file.stem().string());
    auto plugin = ProcessPlugin::describe(file, program, configured != isolations.end() ? configured->second : Isolation{});
    if (!plugin) {
      refused_files.push_back(refused(name, plugin.error().what));
      return true;
    }
    auto descriptor = (*plugin)->take_descriptor();
    if (std::none_of(descriptor.actions.begin(), descriptor.actions.end(),
                     [&](const LoadedAction& action) { return wants_process(isolations, action.type.name); }))
      return false;
    usable.push_back({name, {std::move(descriptor), ""}, std::move(*plugin)});
    return true;
  });
}

// All that a plugin does while it is loaded, for a process that may come to harm by it.
void try_file(const std::filesystem::path& file, const SenderSettings& settings) {
  const auto loaded = load_file(file);
  if (!loaded) return;
  for (const auto& action : loaded->descriptor.actions)
    if (const auto json = choice_of(settings, action.type.name).settings; action.settings.check(json).empty())
      ask_plugin(action.action->validate_settings, json);
}

// Files that may be loaded here, after one that may not is refused.
std::vector<std::filesystem::path> tried(std::vector<std::filesystem::path> files, const SenderSettings& settings,
                                         std::vector<RefusedPlugin>& refused) {
  const auto faults = try_in_child(files, [&](const auto& file) { try_file(file, settings); });
  std::vector<std::filesystem::path> harmless;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (faults[i].empty())
      harmless.push_back(std::move(files[i]));
    else
      refused.push_back({files[i].filename().string(), "a process that loaded it came to harm: " + faults[i],
                         "see what `waybill plugin check " + files[i].string() + "` finds, and mend the plugin"});
  return harmless;
}

}  // namespace

struct Catalogue::Contents {
  std::map<std::string, LoadedAction, std::less<>> actions;
  std::vector<std::pair<std::string_view, const BoundedCheck*>>
      payload_checks;                                            // of those that have one: few, asked for each intent
  std::map<std::string, ProcessPlugin*, std::less<>> processes;  // by action type
  std::vector<std::unique_ptr<ProcessPlugin>> process_plugins;
  std::vector<LoadedPlugin> loaded;
  std::vector<RefusedPlugin> refused;

  std::vector<SupersededAction> superseded;
  std::filesystem::path folder;
  FileMarks marks;  // of all files that were there

  void add(std::vector<NamedFile> files, const SenderSettings& settings);
  const LoadedPlugin* plugin_of(std::string_view type) const {
    const auto owner = std::find_if(loaded.begin(), loaded.end(), [&](const LoadedPlugin& plugin) {
      return std::find(plugin.action_types.begin(), plugin.action_types.end(), type) != plugin.action_types.end();
    });
    return owner == loaded.end() ? nullptr : &*owner;
  }
  const LoadedAction* find(std::string_view name) const {
    const auto found = actions.find(name);
    return found == actions.end() ? nullptr : &found->second;
  }
};

// For each action type the newest of those that have it, or the one that the operator wants. Of two that are as new the first
// keeps it, and the other plugin is refused.
void Catalogue::Contents::add(std::vector<NamedFile> files, const SenderSettings& settings) {
  std::map<std::string, const NamedFile*> owners;
  std::set<std::string> refused_files;
  const auto is_wanted = [&](const NamedFile& file, const std::string& type) {
    const auto pin = choice_of(settings, type).version;
    return pin.empty() || file.loaded.descriptor.version == pin;
  };
  // Of those before it, who has a type of this file, and is as new.
  const auto equal = [&](const NamedFile& file) -> std::pair<std::string, const NamedFile*> {
    const auto& version = file.loaded.descriptor.version;
    for (const auto& action : file.loaded.descriptor.actions)
      if (const auto found = owners.find(action.type.name); found != owners.end() && is_wanted(file, action.type.name))
        if (const auto& other = found->second->loaded.descriptor.version;
            !is_newer_version(version, other) && !is_newer_version(other, version))
          return {action.type.name, found->second};
    return {};
  };
  for (const auto& file : files) {
    if (const auto [type, owner] = equal(file); owner != nullptr) {
      refused.push_back({file.name,
                         "its action type " + type + " belongs to " + owner->name + " already, and has the same version",
                         "remove one of the two"});
      refused_files.insert(file.name);
      continue;
    }
    for (const auto& action : file.loaded.descriptor.actions) {
      if (!is_wanted(file, action.type.name)) continue;
      const auto [owner, is_first] = owners.try_emplace(action.type.name, &file);
      if (!is_first && is_newer_version(file.loaded.descriptor.version, owner->second->loaded.descriptor.version))
        owner->second = &file;
    }
  }
  std::map<std::string, std::pair<std::string, std::string>> winners;  // file and version by action type
  for (const auto& [type, owner] : owners) winners[type] = {owner->name, owner->loaded.descriptor.version};
  for (auto& file : files) {
    if (refused_files.contains(file.name)) continue;
    auto& descriptor = file.loaded.descriptor;
    LoadedPlugin plugin{.file = file.name,
                        .id = std::move(descriptor.id),
                        .version = descriptor.version,
                        .abi_minor = descriptor.abi_minor,
                        .action_types = {},
                        .in_process = file.process == nullptr,
                        .not_isolated = file.process ? file.process->missing() : std::vector<std::string>(),
                        .why_in_place = std::move(file.loaded.why_in_place)};
    for (auto& action : descriptor.actions) {
      auto name = action.type.name;
      const auto winner = winners.find(name);
      if (winner == winners.end() || winner->second.first != file.name) {
        superseded.push_back({file.name, descriptor.version, name, winner == winners.end() ? "" : winner->second.first,
                              winner == winners.end() ? "" : winner->second.second, choice_of(settings, name).version});
        continue;
      }
      plugin.action_types.push_back(name);
      if (file.process) processes[name] = file.process.get();
      const auto& added = actions.emplace(std::move(name), std::move(action)).first->second;
      if (added.payload) payload_checks.emplace_back(added.type.name, &*added.payload);
    }
    if (plugin.action_types.empty()) continue;
    loaded.push_back(std::move(plugin));
    if (file.process) process_plugins.push_back(std::move(file.process));
  }
}

std::string words_of(const SupersededAction& one) {
  std::string words = "action type " + one.action_type + " of " + one.file + " (version " + one.version + ") is not used: ";
  if (one.wanted.empty()) return words + one.by + " has version " + one.by_version;
  words += "senders." + one.action_type + ".plugin_version is " + one.wanted;
  return one.by.empty() ? words + ", which no file has" : words + ", which is that of " + one.by;
}

Catalogue::Catalogue() : contents_(std::make_unique<Contents>()) {}
Catalogue::~Catalogue() = default;

std::unique_ptr<Catalogue> Catalogue::load(const std::filesystem::path& folder, const SenderSettings& settings,
                                           const Isolations& isolations, const std::filesystem::path& program) {
  std::unique_ptr<Catalogue> catalogue(new Catalogue);
  auto& contents = *catalogue->contents_;
  if (auto fault = fault_in_folder(folder)) {
    contents.refused.push_back({folder.string(), fault->reason, fault->remedy});
    return catalogue;
  }
  contents.folder = folder;
  contents.marks = marks_in(folder);
  std::vector<std::filesystem::path> files;
  try {
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::canonical(folder)))
      if (entry.path().extension() == ".so") files.push_back(entry.path());
  } catch (const std::filesystem::filesystem_error& error) {
    contents.refused.push_back({folder.string(), error.what(), "check the folder's permissions"});
    return catalogue;
  }
  std::sort(files.begin(), files.end());
  std::vector<NamedFile> usable;
  take_process_plugins(files, isolations, program, usable, contents.refused);
  for (const auto& file : tried(std::move(files), settings, contents.refused)) {
    auto name = file.filename().string();
    if (auto loaded = load_file(file))
      usable.push_back({std::move(name), std::move(*loaded), nullptr});
    else
      contents.refused.push_back(waybill::refused(name, loaded.error().what));
  }
  std::sort(usable.begin(), usable.end(), [](const NamedFile& a, const NamedFile& b) { return a.name < b.name; });
  contents.add(std::move(usable), settings);
  std::stable_sort(contents.refused.begin(), contents.refused.end(),
                   [](const RefusedPlugin& a, const RefusedPlugin& b) { return a.file < b.file; });
  return catalogue;
}

const ActionType* Catalogue::find(std::string_view name) const {
  const auto* found = contents_->find(name);
  return found == nullptr ? nullptr : &found->type;
}

std::vector<std::string> Catalogue::names() const {
  std::vector<std::string> names;
  for (const auto& [name, action] : contents_->actions) names.push_back(name);
  return names;
}

const std::vector<LoadedPlugin>& Catalogue::loaded() const { return contents_->loaded; }
const std::vector<RefusedPlugin>& Catalogue::refused() const { return contents_->refused; }

const std::vector<SupersededAction>& Catalogue::superseded() const { return contents_->superseded; }

std::vector<ChangedPlugin> Catalogue::changes() const {
  const auto now = marks_in(contents_->folder);
  std::vector<ChangedPlugin> changes;
  for (const auto& [file, mark] : now)
    if (const auto before = contents_->marks.find(file); before == contents_->marks.end())
      changes.push_back({file, "new"});
    else if (before->second != mark)
      changes.push_back({file, "replaced"});
  for (const auto& [file, mark] : contents_->marks)
    if (!now.contains(file)) changes.push_back({file, "gone"});
  return changes;
}

const LoadedPlugin* Catalogue::plugin_of(std::string_view action_type) const { return contents_->plugin_of(action_type); }

std::string Catalogue::name_of(std::string_view action_type) const {
  const auto* plugin = plugin_of(action_type);
  return plugin == nullptr ? std::string() : plugin->id + " " + plugin->version;
}

ProcessPlugin* Catalogue::process_plugin(std::string_view action_type) const {
  const auto found = contents_->processes.find(action_type);
  return found == contents_->processes.end() ? nullptr : found->second;
}

const wb_action* Catalogue::action(std::string_view name) const {
  const auto* found = contents_->find(name);
  return found == nullptr ? nullptr : found->action;
}

Problems Catalogue::check_destination(std::string_view action_type, const std::string& json) const {
  const auto* found = contents_->find(action_type);
  if (found == nullptr) return {{"", 0, "", "no plugin has the action type " + clean_text(action_type, 64)}};
  auto problems = found->destination.check(json);
  if (!problems.empty()) return problems;
  if (auto* const process = process_plugin(action_type)) return process->opinion_of_destination(action_type, json);
  return ask_plugin(found->action->validate_destination, json);
}

Problems Catalogue::check_payload(std::string_view action_type, const std::string& json) const {
  for (const auto& [type, check] : contents_->payload_checks)
    if (type == action_type) return json.empty() ? check->check("{}") : check->check(json);
  return {};
}

Problems Catalogue::check_settings(std::string_view action_type, const std::string& json) const {
  const auto* found = contents_->find(action_type);
  if (found == nullptr) return {{"", 0, "", "no plugin has the action type " + clean_text(action_type, 64)}};
  const auto settings = read_choice(json).settings;
  auto problems = found->settings.check(settings);
  if (!problems.empty()) return problems;
  if (auto* const process = process_plugin(action_type)) return process->opinion_of_settings(action_type, settings);
  return ask_plugin(found->action->validate_settings, settings);
}

}  // namespace waybill
