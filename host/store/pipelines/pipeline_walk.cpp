// Reads submissions of pipelines with all that their next step depends on.
#include "store/pipelines/pipeline_walk.h"

#include <algorithm>
#include <charconv>

#include "base/json_writer.h"
#include "store/pipelines/pipelines.sql.h"

namespace waybill {
namespace {

std::vector<RouteId> routes_from(std::string_view array) {
  std::vector<RouteId> routes;
  for (const char* at = array.data() + 1; at < array.data() + array.size() - 1;) {
    int route = 0;
    at = std::from_chars(at, array.data() + array.size(), route).ptr + 1;
    routes.push_back({route});
  }
  return routes;
}

std::string pointer_to(const std::string& state) { return "/results/" + state; }  // names have neither ~ nor /

// Of a row with an action.
PipelineWalk::Run run_of(const sql::pipeline_runs_row& row) {
  const auto status = row.status();
  const auto input = row.input();
  return {.action = static_cast<std::size_t>(value_or_zero(row.action())),
          .status = status ? status_from(*status) : std::nullopt,
          .result = text_or_empty(row.result()),
          .reason = std::string(row.reason()),
          .attempts = row.attempts(),
          .error = std::string(row.error()),
          .input = input ? std::optional(std::string(*input)) : std::nullopt};
}

// Reads the runs of one submission from the row `next` on; leaves those of its last step in the walk.
void take_runs(const RowsOf<sql::pipeline_runs_row>& rows, std::size_t& next, PipelineWalk& walk) {
  while (next < rows.size() && rows[next].submission_id() == walk.id.value) {
    const auto first = rows[next];
    const std::string state(first.state());
    std::vector<PipelineWalk::Run> runs;
    walk.visited.push_back(state);
    for (; next < rows.size() && rows[next].submission_id() == walk.id.value && rows[next].step() == first.step(); ++next)
      if (rows[next].action()) runs.push_back(run_of(rows[next]));
    if (first.step() == walk.step) {
      walk.runs = std::move(runs);
      walk.entered = first.entered();
      walk.first_action = static_cast<int>(first.first_action());
    } else if (const auto* known = walk.pipeline().find(state)) {
      walk.set_result(*known, runs);
    }
  }
}

}  // namespace

std::string result_of(const PipelineState& state, const std::vector<PipelineWalk::Run>& runs) {
  const auto is_done = [](const auto& run) { return run.status == Status::accepted && !run.result.empty(); };
  if (state.actions.size() == 1) return runs.size() == 1 && is_done(runs.front()) ? runs.front().result : std::string();
  std::string json;
  for (const auto& run : runs)
    if (is_done(run)) json += (json.empty() ? "{" : ",") + json_string(state.actions.at(run.action).name) + ":" + run.result;
  return json.empty() ? json : json + "}";
}

std::vector<ActionRun> PipelineWalk::action_runs() const {
  std::vector<ActionRun> all;
  for (const auto& run : runs) all.push_back({run.action, run.status});
  return all;
}

void PipelineWalk::keep_result() { set_result(*state, runs); }

void PipelineWalk::set_result(const PipelineState& of, const std::vector<Run>& made) {
  auto json = result_of(of, made);
  if (json.empty()) return;
  facts.set(pointer_to(of.name), json);
  std::erase_if(results, [&](const auto& one) { return one.first == of.name; });
  results.emplace_back(of.name, std::move(json));
}

void PipelineWalk::conclude() {
  const bool all_ended = std::all_of(runs.begin(), runs.end(), [](const Run& run) { return !run.status || is_end(*run.status); });
  if (!all_ended || runs.empty()) return;
  std::string reason, error;
  std::int64_t attempts = 0;
  for (const auto& run : runs) {
    if (run.status && *run.status != Status::accepted && reason.empty()) {
      reason = run.reason;
      error = run.error;
    }
    attempts += run.attempts;
  }
  const auto result = result_of(*state, runs);
  if (!result.empty()) facts.set("/result", result);
  const auto took = std::chrono::duration_cast<Millis>(now - entered);
  facts.set("/stage", "{\"durationMs\":" + std::to_string(std::max<std::int64_t>(0, took.count())) +
                          ",\"attempts\":" + std::to_string(attempts) + ",\"reason\":" + json_string(reason) +
                          ",\"error\":" + json_string(error) + "}");
}

std::string PipelineWalk::input_of(const Run& run) const {
  if (run.input) return *run.input;
  const auto& action = state->actions.at(run.action);
  if (!action.input.empty()) {
    const auto json = facts.json_of(Term{.at = action.input});
    return json.empty() ? "null" : json;
  }
  std::string all = "{\"submissionId\":" + json_string(client_ref) + ",\"pipeline\":" + json_string(pipeline().name) +
                    ",\"state\":" + json_string(state->name) + ",\"payload\":" + payload + ",\"results\":{";
  bool is_first = true;
  for (const auto& [name, json] : results) {
    all += (is_first ? "" : ",") + json_string(name) + ":" + json;
    is_first = false;
  }
  return all + "},\"metadata\":" + metadata + "}";
}

namespace {

// jsonb keeps no U+0000. JSON has it as an escape, which an escaped backslash before a "u0000" is not.
std::string without_nul(std::string json) {
  for (std::size_t i = 0; i + 1 < json.size(); ++i) {
    if (json[i] != '\\') continue;
    if (json.compare(i, 6, "\\u0000") == 0) json.replace(i, 6, "\\ufffd");
    ++i;  // what is escaped
  }
  return json;
}

}  // namespace

std::string PipelineWalk::metadata_of(const PipelineTransition& move, const std::string& comment) const {
  std::string json = "{";
  const auto add = [&](const std::string& name, const std::string& value) {
    json += (json.size() > 1 ? "," : "") + json_string(name) + ":" + value;
  };
  for (const auto& [name, term] : move.metadata)
    if (const auto value = facts.json_of(term); !value.empty()) add(name, without_nul(value));
  if (!comment.empty()) add("comment", json_string(comment));
  return json + "}";
}

Result<std::vector<PipelineWalk>> read_walks(Connection& connection, PipelineVersions& versions, Shard shard,
                                             const std::vector<SubmissionId>& submissions) {
  ArrayText wanted;
  for (const auto id : submissions) wanted.add(id.value);
  const Parameters key{std::to_string(shard), wanted.take()};
  auto rows = connection.run(sql::walking, key);
  TRY(rows);
  auto runs = connection.run(sql::pipeline_runs, key);
  TRY(runs);
  std::vector<PipelineWalk> walks;
  std::size_t next = 0;
  for (const auto row : *rows) {
    auto version = versions.read(connection, static_cast<int>(row.version_id()));
    TRY(version);
    PipelineWalk walk{.id = {row.submission_id()},
                      .org = {row.org_id()},
                      .client_ref = std::string(row.client_ref()),
                      .payload = text_or_empty(row.payload()),
                      .metadata = std::string(row.metadata()),
                      .version = std::move(*version),
                      .routes = routes_from(row.routes()),
                      .step = static_cast<int>(row.step()),
                      .next_action = static_cast<int>(row.next_action()),
                      .now = row.now(),
                      .is_blocked = row.is_blocked(),
                      .restored_to = row.restored_to()};
    walk.state = walk.pipeline().find(row.state());
    if (!walk.state) return fail(Error::Kind::bug, "a submission is in a state that its pipeline does not have");
    take_runs(*runs, next, walk);
    walk.facts.set("/payload", walk.payload);
    walk.facts.set("/metadata", walk.metadata);
    walk.facts.set("/submissionId", json_string(walk.client_ref));
    walks.push_back(std::move(walk));
  }
  return walks;
}

}  // namespace waybill
