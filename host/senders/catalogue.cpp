// The plugins of one folder: who has which action type, and what their descriptors say.
#include "senders/catalogue.h"

#include <algorithm>
#include <set>

#include "plugin_protocol/plugin_text.h"
#include "senders/plugin_version.h"
#include "senders/process_plugin.h"

namespace waybill {

// Never changed once it is in force: what find() gave stays good.
struct Catalogue::Contents {
  std::map<std::string, std::shared_ptr<const LoadedAction>, std::less<>> actions;
  std::vector<std::pair<std::string_view, const BoundedCheck*>>
      payload_checks;  // of those that have one: few, asked for each intent
  std::map<std::string, std::weak_ptr<ProcessPlugin>, std::less<>> processes;  // by action type
  std::vector<LoadedPlugin> loaded;
  std::vector<RefusedPlugin> refused;
  std::vector<SupersededAction> superseded;
  std::vector<ChangedPlugin> not_taken;

  Contents(const std::vector<PluginCandidate>& files, const SenderSettings& settings);
  const LoadedPlugin* plugin_of(std::string_view type) const {
    const auto owner = std::find_if(loaded.begin(), loaded.end(), [&](const LoadedPlugin& plugin) {
      return std::find(plugin.action_types.begin(), plugin.action_types.end(), type) != plugin.action_types.end();
    });
    return owner == loaded.end() ? nullptr : &*owner;
  }
  const LoadedAction* find(std::string_view name) const {
    const auto found = actions.find(name);
    return found == actions.end() ? nullptr : found->second.get();
  }
};

// For each action type the newest of those that have it, or the one that the operator wants. Of two that are as new the first
// keeps it, and the other plugin is refused.
Catalogue::Contents::Contents(const std::vector<PluginCandidate>& files, const SenderSettings& settings) {
  std::map<std::string, const PluginCandidate*> owners;
  std::set<std::string> refused_files;
  const auto is_wanted = [&](const PluginCandidate& file, const std::string& type) {
    const auto pin = choice_of(settings, type).version;
    return pin.empty() || file.version == pin;
  };
  // Of those before it, who has a type of this file, and is as new.
  const auto equal = [&](const PluginCandidate& file) -> std::pair<std::string, const PluginCandidate*> {
    const auto& version = file.version;
    for (const auto& action : file.actions)
      if (const auto found = owners.find(action->type.name); found != owners.end() && is_wanted(file, action->type.name))
        if (const auto& other = found->second->version; !is_newer_version(version, other) && !is_newer_version(other, version))
          return {action->type.name, found->second};
    return {};
  };
  for (const auto& file : files) {
    if (const auto [type, owner] = equal(file); owner != nullptr) {
      refused.push_back({file.file,
                         "its action type " + type + " belongs to " + owner->file + " already, and has the same version",
                         "remove one of the two"});
      refused_files.insert(file.file);
      continue;
    }
    for (const auto& action : file.actions) {
      if (!is_wanted(file, action->type.name)) continue;
      const auto [owner, is_first] = owners.try_emplace(action->type.name, &file);
      if (!is_first && is_newer_version(file.version, owner->second->version)) owner->second = &file;
    }
  }
  std::map<std::string, std::pair<std::string, std::string>> winners;  // file and version by action type
  for (const auto& [type, owner] : owners) winners[type] = {owner->file, owner->version};
  for (const auto& file : files) {
    if (refused_files.contains(file.file)) continue;
    LoadedPlugin plugin{.file = file.file,
                        .id = file.id,
                        .version = file.version,
                        .abi_minor = file.abi_minor,
                        .action_types = {},
                        .isolation = file.isolation,
                        .not_isolated = file.process ? file.process->missing() : std::vector<std::string>(),
                        .why_in_place = file.why_in_place};
    for (const auto& action : file.actions) {
      const auto& name = action->type.name;
      const auto winner = winners.find(name);
      if (winner == winners.end() || winner->second.first != file.file) {
        superseded.push_back({file.file, file.version, name, winner == winners.end() ? "" : winner->second.first,
                              winner == winners.end() ? "" : winner->second.second, choice_of(settings, name).version});
        continue;
      }
      plugin.action_types.push_back(name);
      if (file.process) processes[name] = file.process;
      actions.emplace(name, action);
      if (action->payload) payload_checks.emplace_back(name, &*action->payload);
    }
    if (!plugin.action_types.empty()) loaded.push_back(std::move(plugin));
  }
}

std::string words_of(const SupersededAction& one) {
  std::string words = "action type " + one.action_type + " of " + one.file + " (version " + one.version + ") is not used: ";
  if (one.wanted.empty()) return words + one.by + " has version " + one.by_version;
  words += "senders." + one.action_type + ".plugin_version is " + one.wanted;
  return one.by.empty() ? words + ", which no file has" : words + ", which is that of " + one.by;
}

Catalogue::Catalogue(PluginFolders folders, std::filesystem::path program, FoundPlugins found, const SenderSettings& settings)
    : folders_(std::move(folders)), program_(std::move(program)), candidates_(std::move(found.usable)) {
  auto contents = std::make_shared<Contents>(candidates_, settings);
  contents->refused.insert(contents->refused.end(), found.refused.begin(), found.refused.end());
  std::stable_sort(contents->refused.begin(), contents->refused.end(),
                   [](const RefusedPlugin& a, const RefusedPlugin& b) { return a.file < b.file; });
  contents->not_taken = std::move(found.not_taken);
  contents_ = contents.get();
  all_.push_back(std::move(contents));
}

Catalogue::~Catalogue() = default;

std::unique_ptr<Catalogue> Catalogue::load(const PluginFolders& folders, const SenderSettings& settings,
                                           const Isolations& isolations, const std::filesystem::path& program) {
  return std::unique_ptr<Catalogue>(
      new Catalogue(folders, program, find_plugins(folders, {settings, isolations, program}), settings));
}

std::unique_ptr<Catalogue> Catalogue::renewed(const SenderSettings& settings, const Isolations& isolations) const {
  const std::lock_guard lock(mutex_);
  return std::unique_ptr<Catalogue>(
      new Catalogue(folders_, program_, find_plugins_again(folders_, {settings, isolations, program_}, candidates_), settings));
}

void Catalogue::take(const Catalogue& next) {
  const std::scoped_lock lock(mutex_, next.mutex_);
  candidates_ = next.candidates_;
  all_.push_back(next.all_.back());
  contents_ = all_.back().get();
}

const ActionType* Catalogue::find(std::string_view name) const {
  const auto* found = contents()->find(name);
  return found == nullptr ? nullptr : &found->type;
}

std::vector<std::string> Catalogue::names() const {
  std::vector<std::string> names;
  for (const auto& [name, action] : contents()->actions) names.push_back(name);
  return names;
}

const std::vector<LoadedPlugin>& Catalogue::loaded() const { return contents()->loaded; }
const std::vector<RefusedPlugin>& Catalogue::refused() const { return contents()->refused; }

const std::vector<SupersededAction>& Catalogue::superseded() const { return contents()->superseded; }

const std::vector<ChangedPlugin>& Catalogue::not_taken() const { return contents()->not_taken; }

const LoadedPlugin* Catalogue::plugin_of(std::string_view action_type) const { return contents()->plugin_of(action_type); }

std::string Catalogue::name_of(std::string_view action_type) const {
  const auto* plugin = plugin_of(action_type);
  return plugin == nullptr ? std::string() : plugin->id + " " + plugin->version;
}

std::shared_ptr<ProcessPlugin> Catalogue::process_plugin(std::string_view action_type) const {
  const auto* const now = contents();
  const auto found = now->processes.find(action_type);
  return found == now->processes.end() ? nullptr : found->second.lock();
}

const wb_action* Catalogue::action(std::string_view name) const {
  const auto* found = contents()->find(name);
  return found == nullptr ? nullptr : found->action;
}

Problems Catalogue::check_destination(std::string_view action_type, const std::string& json) const {
  const auto* found = contents()->find(action_type);
  if (found == nullptr) return {{"", 0, "", "no plugin has the action type " + clean_text(action_type, 64)}};
  auto problems = found->destination.check(json);
  if (!problems.empty()) return problems;
  if (const auto process = process_plugin(action_type)) return process->opinion_of_destination(action_type, json);
  return ask_plugin(found->action->validate_destination, json);
}

Problems Catalogue::check_payload(std::string_view action_type, const std::string& json) const {
  for (const auto& [type, check] : contents()->payload_checks)
    if (type == action_type) return json.empty() ? check->check("{}") : check->check(json);
  return {};
}

Problems Catalogue::check_settings(std::string_view action_type, const std::string& json) const {
  const auto* found = contents()->find(action_type);
  if (found == nullptr) return {{"", 0, "", "no plugin has the action type " + clean_text(action_type, 64)}};
  const auto settings = read_choice(json).settings;
  auto problems = found->settings.check(settings);
  if (!problems.empty()) return problems;
  if (const auto process = process_plugin(action_type)) return process->opinion_of_settings(action_type, settings);
  return ask_plugin(found->action->validate_settings, settings);
}

}  // namespace waybill
