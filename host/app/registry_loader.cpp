// Reloading: read, check, store the forms, then swap.
#include "app/registry_loader.h"

#include "app/outgoing.h"

namespace waybill {

ReloadResult RegistryLoader::reload(FormStore& store, const LoadActor& actor) {
  const std::lock_guard lock(reloading_);
  auto next = load_registry(config_.registry, catalogue_);
  if (next)
    if (auto problems = check_registry(config_, catalogue_, *next); !problems.empty()) next = tl::unexpected(std::move(problems));
  Outgoing outgoing;
  tl::expected<Secrets, Problems> secrets;
  if (next) {
    secrets = Secrets::resolve(config_.secrets, config_.file.string());
    if (secrets) outgoing = check_outgoing(config_, *next, *secrets);
    if (auto problems = secrets ? outgoing.problems : secrets.error(); !problems.empty())
      next = tl::unexpected(std::move(problems));
  }
  const auto changed = catalogue_.changes();
  for (const auto& plugin : changed)
    log_.warn("plugin.not_loaded", {{"file", plugin.file}, {"how", plugin.how}, {"remedy", "restart this host to load it"}});
  if (!next) {
    for (const auto& plugin : changed)
      next.error().push_back({(config_.plugins / plugin.file).string(), 0, "",
                              "the file is " + std::string(plugin.how) + " since this host started: restart it to load it"});
    for (const auto& problem : next.error())
      log_.error("registry.refused", {{"problem", to_string(problem)},
                                      {"configuration", "as it was at start: a change of its file needs a restart"}});
    return {.problems = std::move(next.error()), .error = {}, .changes = {}};
  }
  auto loaded = store.load(next->forms(), actor);
  if (!loaded) {
    log_.error("registry.not_stored", {{"error", loaded.error().what}});
    return {.problems = {}, .error = loaded.error(), .changes = {}};
  }
  for (const auto& warning : outgoing.warnings) log_.warn("config.warning", {{"warning", to_string(warning)}});
  secrets_->swap_in(std::move(*secrets));
  transports_.swap_in(std::move(*outgoing.transports));  // first: no delivery to a new target goes without
  live_.swap_in(std::move(*next));
  const auto registry = current();
  log_.info("registry.reloaded",
            {{"targets", registry->targets().size()}, {"forms", registry->forms().size()}, {"actor", actor.name}});
  return {{}, {}, registry->targets().size(), registry->forms().size(), std::move(*loaded)};
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

}  // namespace waybill
