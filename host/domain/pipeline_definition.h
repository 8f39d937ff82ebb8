// A pipeline as it is stored: its file's text, the contracts of its actions, and the versions of the pipelines that it starts. A
// submission keeps the one that it began with.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "domain/contract.h"
#include "domain/idempotency.h"
#include "domain/pipeline.h"

namespace waybill {

struct PipelineDefinition {
  Pipeline pipeline;
  std::vector<Contract> contracts;                                  // of each action of each state, in their order
  std::vector<std::shared_ptr<const PipelineDefinition>> starts{};  // of the registry only
  std::map<std::string, std::string> start_hashes{};                // pipeline -> hash in hex
  std::string text{};                                               // as stored
  Sha256 hash{};                                                    // of `text`

  // The place in `contracts`.
  std::size_t contract_of(const PipelineState& state, std::size_t action) const;
};

// `file`: the file's text. The contracts are those of the targets, see stage_contract().
PipelineDefinition define_pipeline(Pipeline pipeline, const std::string& file, std::vector<Contract> contracts,
                                   std::vector<std::shared_ptr<const PipelineDefinition>> starts);

// Error::bug: what is stored is damaged.
Result<PipelineDefinition> definition_from_text(const std::string& text);

// The contract of an action: that of its target, with what the pipeline says about it.
Contract stage_contract(const Contract& target, const Pipeline& pipeline, const PipelineState& state,
                        const PipelineAction& action);

}  // namespace waybill
