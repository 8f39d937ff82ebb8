// Stored pipelines: JSON of the file's text, contracts and hashes.
#include "domain/pipeline_definition.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "domain/pipeline_check.h"
#include "domain/pipeline_reader.h"

namespace waybill {

std::size_t PipelineDefinition::contract_of(const PipelineState& state, std::size_t action) const {
  std::size_t place = action;
  for (const auto& one : pipeline.states) {
    if (one.name == state.name) break;
    place += one.actions.size();
  }
  return place;
}

PipelineDefinition define_pipeline(Pipeline pipeline, const std::string& file, std::vector<Contract> contracts,
                                   std::vector<std::shared_ptr<const PipelineDefinition>> starts) {
  PipelineDefinition made{.pipeline = std::move(pipeline), .contracts = std::move(contracts), .starts = std::move(starts)};
  nlohmann::json stored{{"file", file}, {"contracts", nlohmann::json::array()}, {"starts", nlohmann::json::object()}};
  for (const auto& contract : made.contracts) stored["contracts"].push_back(to_json(contract));
  for (const auto& start : made.starts) {
    made.start_hashes[start->pipeline.name] = to_hex(as_view(start->hash));
    stored["starts"][start->pipeline.name] = made.start_hashes[start->pipeline.name];
  }
  made.text = dump_sorted(stored);
  made.hash = sha256(made.text);
  return made;
}

Result<PipelineDefinition> definition_from_text(const std::string& text) try {
  const auto read = read_sorted_json(text);
  if (!read) return fail(Error::Kind::bug, "a stored pipeline cannot be read: " + read.error().what);
  const auto& stored = *read;
  auto pipeline = read_pipeline(stored.at("file").get<std::string>(), "stored pipeline", PipelineOrigin::stored);
  if (!pipeline) return fail(Error::Kind::bug, "a stored pipeline cannot be read: " + to_string(pipeline.error().front()));
  PipelineDefinition definition{.pipeline = std::move(*pipeline), .contracts = {}};
  for (const auto& one : stored.at("contracts")) {
    auto contract = contract_from_json(one.get<std::string>());
    TRY(contract);
    definition.contracts.push_back(std::move(*contract));
  }
  definition.start_hashes = stored.at("starts").get<std::map<std::string, std::string>>();
  definition.text = text;
  definition.hash = sha256(text);
  return definition;
} catch (const nlohmann::json::exception& e) {
  return fail(Error::Kind::bug, std::string("a stored pipeline cannot be read: ") + e.what());
}

Contract stage_contract(const Contract& target, const Pipeline& pipeline, const PipelineState& state,
                        const PipelineAction& action) {
  Contract contract = target;
  StageTerms stage{.pipeline = pipeline.name, .state = state.name};
  if (action.retry) {
    contract.policy = Policy::max_attempts;
    contract.max_attempts = action.retry->attempts;
    contract.max_acceptance = {};
    stage.timing = action.retry->timing;
    stage.attempts_by_reason = action.retry->by_reason;
  }
  for (auto& needed : needed_values(pipeline, state)) {
    if (state.actions.size() == 1) {
      stage.needed.push_back(std::move(needed));
      continue;
    }
    const std::string own = "/" + action.name;  // the results of several are members of one object
    if (needed.at == own || needed.at.starts_with(own + "/")) stage.needed.push_back({needed.at.substr(own.size()), needed.type});
  }
  contract.stage = std::move(stage);
  return contract;
}

}  // namespace waybill
