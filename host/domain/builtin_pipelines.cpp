// Reads the pipelines that the program carries along, once.
#include "domain/builtin_pipelines.h"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "base/embedded_file.h"
#include "base/problem.h"
#include "domain/pipeline_reader.h"

namespace waybill {

std::span<const EmbeddedFile> builtin_pipeline_files();

const std::vector<Pipeline>& builtin_pipelines() {
  static const auto* all = [] {  // never destroyed: threads may still ask at the end
    auto* made = new std::vector<Pipeline>;
    for (const auto& file : builtin_pipeline_files()) {
      auto pipeline = read_pipeline(std::string(file.text), std::string(file.path), PipelineOrigin::built_in);
      if (!pipeline) throw std::logic_error(to_string(pipeline.error().front()));
      made->push_back(std::move(*pipeline));
    }
    return made;
  }();
  return *all;
}

const Pipeline& builtin_pipeline(std::string_view name) {
  const auto& all = builtin_pipelines();
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  if (at == all.end()) throw std::logic_error("there is no built-in pipeline " + std::string(name));
  return *at;
}

const PipelineTransition& builtin_transition(std::string_view pipeline, std::string_view from, std::string_view trigger,
                                             std::string_view to) {
  for (const auto& move : builtin_pipeline(pipeline).transitions)
    if (move.from == from && move.trigger == trigger && move.to == to) return move;
  throw std::logic_error("there is no transition of " + std::string(pipeline) + " from " + std::string(from) + " by " +
                         std::string(trigger));
}

}  // namespace waybill
