// One submission on its way through its pipeline, as read in a transaction that has locked it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "domain/pipeline_decisions.h"
#include "domain/pipeline_step.h"
#include "store/pipelines/pipeline_versions.h"
#include "store/submissions/read_rows.h"

namespace waybill {

struct PipelineWalk {
  struct Run {
    std::size_t action = 0;
    std::optional<Status> status{};
    std::string result{};  // JSON, or empty
    std::string reason{};
    std::int64_t attempts = 0;
    std::string error{};                 // the reason of the last attempt of a failed one
    std::optional<std::string> input{};  // JSON that an operator gave it
  };
  SubmissionId id;
  OrgId org;
  std::string client_ref, payload, metadata;
  PipelineVersion version;
  std::vector<RouteId> routes;
  const PipelineState* state = nullptr;
  int step = 1;
  int next_action = 1;
  int first_action = 1;  // of the present step
  Timestamp entered, now;
  bool is_blocked = false;
  // To which the database was restored since: an action of policy one_shot may have been sent then, and ends unsent.
  std::optional<Timestamp> restored_to{};
  bool has_ended_restored = false;  // such an action of the present step, in this transaction
  bool is_failure_handled =
      false;  // a transition of this transaction handled a failure, or is sure to when all actions have ended
  std::vector<std::string> visited{};                          // the states of all steps
  std::vector<Run> runs;                                       // of the present step
  std::vector<std::pair<std::string, std::string>> results{};  // state -> JSON, of the steps before
  Facts facts{};

  const Pipeline& pipeline() const { return version.definition->pipeline; }
  PipelinePlace place() const { return {pipeline(), *state, static_cast<std::uint32_t>(step), facts}; }
  std::vector<ActionRun> action_runs() const;
  Shard shard() const { return shard_of(id); }
  // Adds the results of a state's runs, if they have any: to `results`, where the latest of a state stands, and to the facts.
  void set_result(const PipelineState& of, const std::vector<Run>& made);
  void keep_result();  // the present state's
  // Sets /result and /stage from the runs, if all have ended.
  void conclude();
  // What an action is sent: what it was given, or the value that its input names, or all that is known.
  std::string input_of(const Run& run) const;
  // The audit's metadata of a transition: a JSON object.
  std::string metadata_of(const PipelineTransition& move, const std::string& comment) const;
};

// The result of a state: that of its only action, or an object of its actions' results by name. "" if there is none.
std::string result_of(const PipelineState& state, const std::vector<PipelineWalk::Run>& runs);

// In the order of the ids.
Result<std::vector<PipelineWalk>> read_walks(Connection& connection, PipelineVersions& versions, Shard shard,
                                             const std::vector<SubmissionId>& submissions);

}  // namespace waybill
