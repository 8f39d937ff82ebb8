// The commands on pipelines.
#include "cli/pipelines.h"

#include <nlohmann/json.hpp>

#include "base/printing.h"
#include "cli/json_output.h"
#include "domain/builtin_pipelines.h"

namespace waybill {
namespace {

// Null after the problems were printed.
std::optional<LoadedInstallation> loaded(const GlobalOptions& options) {
  const auto config = configuration(options);
  if (!config) return std::nullopt;
  auto contents = load_installation(*config, MissingPluginPolicy::tolerate);
  if (contents.problems.empty() && contents.registry) return contents;
  print(contents.problems);
  return std::nullopt;
}

Json pipeline_json(const Pipeline& pipeline, bool built_in) {
  Json json{{"pipeline", pipeline.name},
            {"builtIn", built_in},
            {"path", pipeline.path.empty() ? Json(nullptr) : Json(pipeline.path)},
            {"initial", pipeline.initial},
            {"states", Json::array()},
            {"transitions", Json::array()}};
  for (const auto& state : pipeline.states) json["states"].push_back({{"name", state.name}, {"terminal", state.terminal}});
  for (const auto& move : pipeline.transitions)
    json["transitions"].push_back({{"from", move.from},
                                   {"to", move.to},
                                   {"trigger", move.trigger},
                                   {"actor", to_string(move.actor)},
                                   {"when", to_text(move.when)}});
  return json;
}

}  // namespace

int list_pipelines(const GlobalOptions& options) {
  const auto contents = loaded(options);
  if (!contents) return 1;
  Json all = Json::array();
  const auto add = [&](const Pipeline& pipeline, bool built_in) {
    all.push_back(pipeline_json(pipeline, built_in));
    if (!options.json)
      print_text("%-24s %2zu states, %2zu transitions%s%s  %s\n", pipeline.name.c_str(), pipeline.states.size(),
                 pipeline.transitions.size(), built_in ? ", built in" : "",
                 pipeline.path.empty() ? "" : (", begun by POST " + pipeline.path).c_str(), pipeline.description.c_str());
  };
  for (const auto& definition : contents->registry->pipelines()) add(definition->pipeline, false);
  for (const auto& pipeline : builtin_pipelines()) add(pipeline, true);
  if (options.json) print_json(all);
  return 0;
}

int show_pipeline(const GlobalOptions& options, const std::string& name) {
  const auto show = [&](const Pipeline& pipeline, bool built_in) {
    if (options.json)
      print_json(pipeline_json(pipeline, built_in));
    else
      print_text("%s", diagram_of(pipeline).c_str());
    return 0;
  };
  for (const auto& pipeline : builtin_pipelines())
    if (pipeline.name == name) return show(pipeline, true);
  const auto contents = loaded(options);
  if (!contents) return 1;
  if (const auto definition = contents->registry->find_pipeline(name)) return show(definition->pipeline, false);
  return failed("there is no pipeline \"" + name + "\"; waybill pipeline list names them");
}

}  // namespace waybill
