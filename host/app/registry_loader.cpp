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

std::string lines_of(const std::vector<PluginChange>& changes) {
  std::string lines;
  for (const auto& change : changes)
    lines += (lines.empty() ? "" : "\n") + change.action_type + ": " +
             (change.before == change.after ? change.after + " with its settings of now takes new work"
              : change.after.empty()        ? "no plugin any more"
                                            : change.after + " takes new work") +
             (change.before.empty() ? "" : "; what is open finishes as it began");
  return lines;
}

std::string lines_of(const Problems& problems) {
  constexpr std::size_t kMost = 50, kMaxLine = 1000;
  std::string lines;
  for (std::size_t i = 0; i < std::min(problems.size(), kMost); ++i)
    lines.append(lines.empty() ? "" : "\n").append(clean_text(to_string(problems[i]), kMaxLine));
  return lines;
}

std::string remarks_of(const ReloadResult& result) {
  if (result.error) return result.error->what;
  if (!result.problems.empty()) return lines_of(result.problems);
  const auto changes = lines_of(result.plugin_changes), warnings = lines_of(result.warnings);
  return changes + (changes.empty() || warnings.empty() ? "" : "\n") + warnings;
}

}  // namespace

ReloadResult RegistryLoader::refused(Problems problems, const Problems& warnings) {
  problems.insert(problems.end(), warnings.begin(), warnings.end());
  for (const auto& problem : problems)
    log_.error("registry.refused",
               {{"problem", to_string(problem)},
                {"configuration", "as it was at start, but for senders of plugins in processes: other changes need a restart"}});
  ReloadResult result;
  result.problems = std::move(problems);
  return result;
}

ReloadResult RegistryLoader::reload(FormStore& store, LoadActor actor, SenderRenewal& senders, std::int64_t request) {
  const std::lock_guard lock(reloading_);
  auto result = load(store, std::move(actor), senders);
  const std::lock_guard state_lock(reporting_);
  report_.request = std::max(report_.request, request);
  report_.verdict = result.error ? "not_stored" : result.problems.empty() ? "loaded" : "refused";
  report_.remarks = remarks_of(result);
  if (report_.verdict == "loaded") report_.digest = result.digest;
  return result;
}

ReloadResult RegistryLoader::load(FormStore& store, LoadActor actor, SenderRenewal& senders) {
  auto renewed = senders.prepare();
  if (!renewed) return refused(std::move(renewed.error()), {});
  for (const auto& warning : renewed->warnings) log_.warn("plugin.not_loaded", {{"problem", to_string(warning)}});
  const auto& config = renewed->config;
  auto secrets = Secrets::resolve(config.secrets, config.file.string());
  auto next = find_registry(config, *renewed->catalogue, secrets ? &*secrets : nullptr, MissingPluginPolicy::tolerate);
  if (!secrets) next.problems.insert(next.problems.begin(), secrets.error().begin(), secrets.error().end());
  for (const auto& change : renewed->changes)
    for (auto& problem : sender_problems(config, *renewed->catalogue, change.action_type))
      next.problems.push_back(std::move(problem));
  if (next.problems.empty()) next.problems = senders.try_out(*renewed);
  if (!next.problems.empty()) return refused(std::move(next.problems), renewed->warnings);
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
  auto changes = renewed->changes;
  next.absent.insert(next.absent.end(), renewed->warnings.begin(), renewed->warnings.end());
  senders.take(std::move(*renewed));
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
          .plugin_changes = std::move(changes),
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
