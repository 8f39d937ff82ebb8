// Reloading: read, check, store the forms, then swap.
#include "app/registry_loader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_writer.h"
#include "base/utf8.h"

namespace waybill {

namespace {

// Lets a rule of a target's transport, and its time limit, count as the target's.
bool is_same(const Registry& before, const Registry& after, const Contract& was, const Contract& is) {
  const auto rules_in = [&](const Registry& registry) {
    const auto found = registry.transports().find(is.target);
    return found == registry.transports().end() ? std::nullopt : found->second.rules;
  };
  const auto limit_in = [&](const Registry& registry) {
    const auto found = registry.time_limits().find(is.target);
    return found == registry.time_limits().end() ? std::nullopt : std::optional(found->second);
  };
  return was == is && rules_in(before) == rules_in(after) && limit_in(before) == limit_in(after);
}

NameChanges target_changes(const Registry& before, const Registry& after) {
  NameChanges changes;
  for (const auto& is : after.targets()) {
    const auto* was = before.find(is.target);
    if (!was)
      changes.added.push_back(is.target);
    else if (!is_same(before, after, *was, is))
      changes.changed.push_back(is.target);
  }
  for (const auto& was : before.targets())
    if (!after.find(was.target)) changes.removed.push_back(was.target);
  return changes;
}

NameChanges pipeline_changes(const Registry& before, const Registry& after) {
  NameChanges changes;
  for (const auto& is : after.pipelines()) {
    const auto was = before.find_pipeline(is->pipeline.name);
    if (!was)
      changes.added.push_back(is->pipeline.name);
    else if (was->hash != is->hash)
      changes.changed.push_back(is->pipeline.name);
  }
  for (const auto& was : before.pipelines())
    if (!after.find_pipeline(was->pipeline.name)) changes.removed.push_back(was->pipeline.name);
  return changes;
}

std::string details_of(const NameChanges& targets, const NameChanges& pipelines, const std::string& before,
                       const std::string& after) {
  return dump(Json{{"targets", name_changes_json(targets)},
                   {"pipelines", name_changes_json(pipelines)},
                   {"digest", after},
                   {"digestBefore", before}});
}

std::string lines_of(const Problems& problems) {
  constexpr std::size_t kMost = 50, kMaxLine = 1000;
  std::string lines;
  for (std::size_t i = 0; i < std::min(problems.size(), kMost); ++i)
    lines.append(lines.empty() ? "" : "\n").append(clean_text(to_string(problems[i]), kMaxLine));
  return lines;
}

}  // namespace

FoundRegistry RegistryLoader::find(tl::expected<Secrets, Problems>& secrets) const {
  secrets = Secrets::resolve(config_.secrets, config_.file.string());
  auto found = find_registry(config_, catalogue_, secrets ? &*secrets : nullptr, MissingPluginPolicy::tolerate);
  if (!secrets) found.problems.insert(found.problems.begin(), secrets.error().begin(), secrets.error().end());
  return found;
}

ReloadResult RegistryLoader::refused(Problems problems, const std::vector<ChangedPlugin>& changed) {
  for (const auto& plugin : changed)
    problems.push_back({(config_.plugins / plugin.file).string(), 0, "",
                        "the file is " + std::string(plugin.how) + " since this host started: restart it to load it"});
  for (const auto& problem : problems)
    log_.error("registry.refused",
               {{"problem", to_string(problem)}, {"configuration", "as it was at start: a change of its file needs a restart"}});
  ReloadResult result;
  result.problems = std::move(problems);
  return result;
}

ReloadResult RegistryLoader::reload(FormStore& store, LoadActor actor, std::int64_t request) {
  const std::lock_guard lock(reloading_);
  auto result = load(store, std::move(actor));
  const std::lock_guard state_lock(reporting_);
  report_.request = std::max(report_.request, request);
  report_.verdict = result.error ? "not_stored" : result.problems.empty() ? "loaded" : "refused";
  report_.remarks = result.error ? result.error->what : lines_of(result.problems.empty() ? result.warnings : result.problems);
  if (report_.verdict == "loaded") report_.digest = result.digest;
  return result;
}

ReloadResult RegistryLoader::load(FormStore& store, LoadActor actor) {
  tl::expected<Secrets, Problems> secrets;
  auto next = find(secrets);
  const auto changed = catalogue_.changes();
  for (const auto& plugin : changed)
    log_.warn("plugin.not_loaded", {{"file", plugin.file}, {"how", plugin.how}, {"remedy", "restart this host to load it"}});
  if (!next.problems.empty()) return refused(std::move(next.problems), changed);
  const auto before = current();
  auto targets = target_changes(*before, *next.registry), pipelines = pipeline_changes(*before, *next.registry);
  actor.details = details_of(targets, pipelines, report().digest, next.digest);
  auto loaded = store.load(next.registry->forms(), actor);
  if (!loaded) {
    log_.error("registry.not_stored", {{"error", loaded.error().what}});
    ReloadResult result;
    result.error = loaded.error();
    return result;
  }
  for (const auto& problem : next.absent)
    log_.error("plugin.missing",
               {{"problem", to_string(problem)}, {"effect", "its submissions are taken and wait until that is mended"}});
  for (const auto& warning : next.warnings) log_.warn("config.warning", {{"warning", to_string(warning)}});
  secrets_->swap_in(std::move(*secrets));
  transports_.swap_in(std::move(*next.transports));  // first: no delivery to a new target goes without
  live_.swap_in(std::move(*next.registry));
  const auto registry = current();
  log_.info("registry.reloaded", {{"targets", registry->targets().size()},
                                  {"forms", registry->forms().size()},
                                  {"digest", next.digest},
                                  {"actor", actor.name}});
  return {.problems = {},
          .error = {},
          .targets = registry->targets().size(),
          .forms = registry->forms().size(),
          .changes = std::move(*loaded),
          .target_changes = std::move(targets),
          .pipeline_changes = std::move(pipelines),
          .warnings = std::move(next.absent),
          .digest = next.digest};
}

RegistryReport RegistryLoader::report() const {
  const std::lock_guard lock(reporting_);
  return report_;
}

std::vector<std::string> RegistryLoader::action_types() const {
  std::vector<std::string> types;
  const auto registry = current();
  for (const auto& target : registry->targets()) types.push_back(target.action_type);
  for (const auto& form : registry->forms())
    for (const auto& action : form.actions) types.push_back(action.action_type);
  return types;
}

std::optional<Contract> RegistryLoader::alert_target() const {
  const auto registry = current();
  const Contract* target = registry->find(config_.alerts.target);
  return target ? std::optional(*target) : std::nullopt;
}

TargetRates RegistryLoader::rates() const {
  TargetRates rates;
  for (const auto& target : current()->targets()) rates.emplace(target.target, target.rate);
  return rates;
}

}  // namespace waybill
