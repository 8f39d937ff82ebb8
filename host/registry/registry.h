// The registry folder as one immutable value: every target with its contract, checked against the loaded plugins.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/live.h"
#include "base/problem.h"
#include "domain/action_types.h"
#include "domain/contract.h"
#include "domain/form.h"
#include "domain/pipeline_definition.h"
#include "egress/transport_rules.h"
#include "registry/targets_file.h"
#include "registry/time_limits.h"
#include "templates/templates.h"

namespace waybill {

class Registry {
 public:
  using Pipelines = std::vector<std::shared_ptr<const PipelineDefinition>>;  // sorted by name
  explicit Registry(std::vector<Contract> targets, std::vector<Form> forms = {}, Templates templates = {},
                    Pipelines pipelines = {}, TargetTransports transports = {}, TimeLimits limits = {},
                    ActionLimits action_limits = {});
  // Null if there is no such target. Lives as long as this registry.
  const Contract* find(std::string_view target) const;
  const std::vector<Contract>& targets() const { return targets_; }
  const Form* find_form(std::string_view id) const;  // null if there is none
  const std::vector<Form>& forms() const { return forms_; }
  const Templates& templates() const { return templates_; }
  std::shared_ptr<const PipelineDefinition> find_pipeline(std::string_view name) const;  // null if there is none
  const Pipelines& pipelines() const { return pipelines_; }
  const TargetTransports& transports() const { return transports_; }
  const TimeLimits& time_limits() const { return limits_; }
  const ActionLimits& action_limits() const { return action_limits_; }
  // Of an attempt to reach the contract's target, as the registry has it now: of its form's or stage's action, or else of its
  // target; none: that of the configuration.
  std::optional<Millis> time_limit(const Contract& contract) const;

 private:
  std::optional<Millis> limit_of_action(const Contract& contract) const;

  std::vector<Contract> targets_;  // sorted by name
  std::vector<Form> forms_;        // sorted by id
  Templates templates_;
  Pipelines pipelines_;
  TargetTransports transports_;
  TimeLimits limits_;
  ActionLimits action_limits_;
};

// Reads and checks `folder`/targets.json, templates/, forms/*.yaml and pipelines/*.json. All problems are found, not only the
// first. With `absent`, a target or an action whose action type no loaded plugin has is only told there: it is taken as far as it
// can be checked without its plugin.
tl::expected<Registry, Problems> load_registry(const std::filesystem::path& folder, const ActionTypes& types,
                                               Problems* absent = nullptr, EmptyTargets empty = EmptyTargets::refuse);

// The templates of a registry, which lives as long as they do.
std::shared_ptr<const Templates> templates_of(std::shared_ptr<const Registry> registry);

// The registry in use. A reload swaps in a good one whole, or keeps the old.
using LiveRegistry = Live<Registry>;

}  // namespace waybill
