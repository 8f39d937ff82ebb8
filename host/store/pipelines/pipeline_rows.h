// Submissions of pipelines in a transaction: begun, moved on as far as their deliveries allow, moved by a person.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/trace_context.h"
#include "domain/pipeline_decisions.h"
#include "domain/pipeline_definition.h"
#include "store/pipelines/pipeline_repair.h"
#include "store/pipelines/pipeline_versions.h"
#include "store/pipelines/pipeline_view.h"
#include "store/submissions/submission_view.h"

namespace waybill {

// Beginning one.
struct PipelineBegin {
  OrgId org;
  std::string client_ref;
  std::string payload;   // JSON
  std::string metadata;  // a JSON object
  std::optional<SubmissionId> parent{};
  Trace trace{};
  Terms terms{};
};

// The hash of all that makes it the same submission.
Sha256 content_hash(const PipelineBegin& begun);

struct PipelineWalk;

// Parts of transactions. One for each session, as its versions are.
class PipelineRows {
 public:
  PipelineRows(PipelineVersions& versions, int shards) : versions_(versions), shards_(shards) {}

  // None: the id is taken.
  Result<std::optional<SubmissionView>> begin(Connection& connection, const PipelineVersion& version, const PipelineBegin& begun);

  // Whether the same submission was begun before.
  Result<bool> is_there(Connection& connection, const PipelineVersion& version, const PipelineBegin& begun);

  // Does what follows from the ends of deliveries: the next action, the next state and all that it begins. Returns those whose
  // failed actions need nobody: a transition handles their failure.
  Result<std::set<SubmissionId>> advance(Connection& connection, Shard shard, const std::vector<SubmissionId>& submissions);

  // The moves since the last call, for metrics. Call it at the beginning of a transaction, and after its commit.
  std::vector<PipelineMoved> take_moves() { return std::exchange(moves_, {}); }

  // Leaves the submission where it is, blocked, with an alert.
  Result<void> halt(Connection& connection, SubmissionId submission);

  // `seen`: the state in which the submission was when the request came.
  Result<TransitionResult> transition(Connection& connection, Shard shard, SubmissionId submission, const std::string& seen,
                                      const ManualTransition& wanted);

  // Carries out an operator's order about a blocked submission, which the caller has locked. Error::conflict: what was begun is
  // to be taken back.
  Result<TransitionResult> repair(Connection& connection, Shard shard, SubmissionId submission, const PipelineRepair& order);

 private:
  // Moves along a transition and leaves the walk at the beginning of the next state, which runs `only` these of its actions.
  Result<void> enter(Connection& connection, PipelineWalk& walk, const PipelineTransition& transition, const std::string& actor,
                     const std::string& metadata, const std::optional<std::vector<std::size_t>>& only);
  Result<void> handle_failure(Connection& connection, PipelineWalk& walk);
  Result<TransitionResult> rerun(Connection& connection, PipelineWalk& walk, const PipelineRepair& order);
  Result<TransitionResult> skip(Connection& connection, PipelineWalk& walk, const PipelineRepair& order);
  Result<TransitionResult> end(Connection& connection, PipelineWalk& walk, const PipelineRepair& order);
  // As far as it goes without waiting.
  Result<void> go_on(Connection& connection, PipelineWalk& walk);
  Result<void> start_others(Connection& connection, const PipelineWalk& walk);

  PipelineVersions& versions_;
  const int shards_;
  std::vector<PipelineMoved> moves_;
};

}  // namespace waybill
