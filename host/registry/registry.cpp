// The registry as a value, how it is read from its folder, and the one that is in use.
#include "registry/registry.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "registry/forms_file.h"
#include "registry/pipelines_folder.h"
#include "registry/registry_file.h"
#include "registry/targets_file.h"
#include "registry/templates_folder.h"

namespace waybill {

Registry::Registry(std::vector<Contract> targets, std::vector<Form> forms, Templates templates, Pipelines pipelines,
                   TargetTransports transports, TimeLimits limits, ActionLimits action_limits)
    : targets_(std::move(targets)),
      forms_(std::move(forms)),
      templates_(std::move(templates)),
      pipelines_(std::move(pipelines)),
      transports_(std::move(transports)),
      limits_(std::move(limits)),
      action_limits_(std::move(action_limits)) {
  std::sort(targets_.begin(), targets_.end(), [](const Contract& a, const Contract& b) { return a.target < b.target; });
  std::sort(forms_.begin(), forms_.end(), [](const Form& a, const Form& b) { return a.id < b.id; });
}

// Where several actions are meant, the longest: no attempt is cut that one of them gives more time.
std::optional<Millis> Registry::limit_of_action(const Contract& contract) const {
  const Form* form = contract.is_of_form() ? find_form(contract.form_id) : nullptr;
  std::optional<Millis> of_its_like, of_itself;
  bool is_known = false;  // the form still says the same of it
  for (const auto& action : form ? form->actions : std::vector<FormAction>{}) {
    if (action.action_type != contract.action_type) continue;
    of_its_like = std::max(of_its_like, action.timeout);
    if (destination_json(action) != contract.destination) continue;
    of_itself = std::max(of_itself, action.timeout);
    is_known = true;
  }
  if (is_known) return of_itself;
  for (const auto& one : action_limits_)
    if (contract.stage && one.owner == contract.stage->pipeline && one.state == contract.stage->state &&
        one.action == contract.target)
      of_its_like = std::max(of_its_like, std::optional(one.limit));
  return of_its_like;
}

std::optional<Millis> Registry::time_limit(const Contract& contract) const {
  if (!action_limits_.empty() && (contract.is_of_form() || contract.is_of_stage()))
    if (const auto limit = limit_of_action(contract)) return limit;
  const auto found = contract.is_of_channel() || contract.is_of_form() ? limits_.end() : limits_.find(contract.target);
  return found == limits_.end() ? std::nullopt : std::optional(found->second);
}

const Form* Registry::find_form(std::string_view id) const {
  const auto at =
      std::lower_bound(forms_.begin(), forms_.end(), id, [](const Form& form, std::string_view name) { return form.id < name; });
  return at != forms_.end() && at->id == id ? &*at : nullptr;
}

std::shared_ptr<const PipelineDefinition> Registry::find_pipeline(std::string_view name) const {
  const auto at =
      std::find_if(pipelines_.begin(), pipelines_.end(), [&](const auto& pipeline) { return pipeline->pipeline.name == name; });
  return at == pipelines_.end() ? nullptr : *at;
}

const Contract* Registry::find(std::string_view target) const {
  const auto at = std::lower_bound(targets_.begin(), targets_.end(), target,
                                   [](const Contract& contract, std::string_view name) { return contract.target < name; });
  return at != targets_.end() && at->target == target ? &*at : nullptr;
}

namespace {

tl::expected<std::vector<Contract>, Problems> load_targets(const std::filesystem::path& file, const ActionTypes& types,
                                                           TargetTransports& transports, TimeLimits& limits, Problems* absent,
                                                           EmptyTargets empty) {
  const auto text = read_text(file);
  if (!text) return tl::unexpected(Problems{{file.string(), 0, "", text.error()}});
  return read_targets(*text, file.string(), types, absent, &transports, &limits, empty);
}

std::vector<Form> load_forms(const std::filesystem::path& folder, const FormContext& context, Problems& problems) {
  std::vector<Form> forms;
  std::map<std::string, std::string> files;  // of each form_id
  for (const auto& file : files_in(folder, problems)) {
    if (file.extension() != ".yaml") {
      problems.push_back({file.string(), 0, "", "must be named NAME.yaml: one form a file"});
      continue;
    }
    const auto text = read_text(file);
    if (!text) {
      problems.push_back({file.string(), 0, "", text.error()});
      continue;
    }
    auto form = read_form(*text, file.string(), context);
    if (!form) {
      std::move(form.error().begin(), form.error().end(), std::back_inserter(problems));
      continue;
    }
    const auto [first, is_new] = files.try_emplace(form->id, file.filename().string());
    if (is_new)
      forms.push_back(std::move(*form));
    else
      problems.push_back({file.string(), 0, "form_id", "is taken by " + first->second});
  }
  return forms;
}

}  // namespace

tl::expected<Registry, Problems> load_registry(const std::filesystem::path& folder, const ActionTypes& types, Problems* absent,
                                               EmptyTargets empty) {
  Problems problems;
  TargetTransports transports;
  TimeLimits limits;
  ActionLimits action_limits;
  auto targets = load_targets(folder / "targets.json", types, transports, limits, absent, empty);
  if (!targets) problems = std::move(targets.error());
  auto templates = load_templates(folder / "templates");
  if (!templates) std::move(templates.error().begin(), templates.error().end(), std::back_inserter(problems));
  // Where templates are wrong themselves, a form is not blamed for naming one.
  const auto has_template = [&](const std::string& id) { return !templates || templates->find(id) != nullptr; };
  const auto read_file = [&](const std::string& name) { return read_text(folder / name); };
  auto forms = load_forms(folder / "forms", {types, has_template, absent, read_file, &action_limits}, problems);
  Registry registry(targets ? *targets : std::vector<Contract>{});
  // Where targets are wrong themselves, a pipeline is not blamed for naming one.
  Registry::Pipelines pipelines;
  if (targets)
    pipelines = load_pipelines(
        folder / "pipelines", [&](const std::string& name) { return registry.find(name); }, problems, action_limits);
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return Registry(std::move(*targets), std::move(forms), std::move(*templates), std::move(pipelines), std::move(transports),
                  std::move(limits), std::move(action_limits));
}

std::shared_ptr<const Templates> templates_of(std::shared_ptr<const Registry> registry) {
  const auto* templates = &registry->templates();
  return {std::move(registry), templates};
}

}  // namespace waybill
