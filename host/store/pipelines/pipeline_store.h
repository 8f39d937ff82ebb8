// The statements of pipelines' submissions: handing them in, moving them by hand, what the API shows. Each object has its own
// session; one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/trace_context.h"
#include "domain/pipeline_decisions.h"
#include "domain/pipeline_definition.h"
#include "store/pipelines/pipeline_repair.h"
#include "store/pipelines/pipeline_view.h"
#include "store/submissions/submission_view.h"

namespace waybill {

// A submission as handed in, with the pipeline that the registry has at this moment.
struct NewPipelineSubmission {
  OrgId org;
  std::string client_ref;
  std::shared_ptr<const PipelineDefinition> pipeline;
  std::string payload;   // JSON, as handed in
  std::string metadata;  // a JSON object, as handed in
  Trace trace{};
  Terms terms{};
};

class PipelineStore {
 public:
  virtual ~PipelineStore() = default;
  // All in one transaction, durable when it returns, of one organisation. Safe to repeat. In the order of `submissions`; if one
  // is a conflict, nothing is stored.
  virtual Result<std::vector<SubmitResult>> submit(std::span<const NewPipelineSubmission> submissions) = 0;
  virtual Result<TransitionResult> transition(OrgId org, const std::string& client_ref, const ManualTransition& wanted) = 0;
  // Each in a transaction of its own, at most kMaxRepairs. Safe to repeat: what was repaired is not blocked any more. A dry run
  // changes nothing and tells what would happen.
  virtual Result<Repairs> repair(OrgId org, const RepairFilter& filter, const PipelineRepair& order) = 0;
  // The moves that the last of submit() and transition() made, for metrics.
  virtual std::vector<PipelineMoved> take_moves() = 0;
  // One consistent moment. None: no such submission.
  virtual Result<std::optional<PipelineView>> find(OrgId org, const std::string& client_ref) = 0;
  // Newest first.
  virtual Result<PipelinePage> list(OrgId org, const PipelineFilter& filter) = 0;

  // Each state's newest kMaxCountedOfState.
  virtual Result<std::vector<PipelineCount>> counts(OrgId org) = 0;
  // Of what was handed in within `window`, the newest of it (kMaxShared). No organisation: of all.
  virtual Result<PipelineShares> shares(const std::string& pipeline, std::optional<OrgId> org, Seconds window) = 0;
  // Of the newest `most` submissions that began it within `window`, as far as 10 times as many steps tell of them.
  virtual Result<LevelMeasure> measure(OrgId org, const std::string& pipeline, const ServiceLevel& level, Seconds window,
                                       std::size_t most) = 0;

  // Tries whether submissions that are blocked can go on after all, `most` at once; the next call goes on after them. Returns
  // how many did.
  virtual Result<std::size_t> sweep(Shard shard, std::size_t most) = 0;
};

}  // namespace waybill
