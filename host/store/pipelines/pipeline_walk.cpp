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

PipelineWalk::Run run_of(const Rows& rows, std::size_t row) {
  return {.action = static_cast<std::size_t>(rows.number(row, 3)),
          .status = rows.is_null(row, 4) ? std::nullopt : status_from(rows.text(row, 4)),
          .result = rows.is_null(row, 5) ? std::string() : text_of(rows, row, 5),
          .reason = text_of(rows, row, 6),
          .attempts = rows.number(row, 8),
          .error = text_of(rows, row, 10),
          .input = rows.is_null(row, 11) ? std::nullopt : std::optional(text_of(rows, row, 11))};
}

// Reads the runs of one submission from `row` on; leaves those of its last step in the walk.
void take_runs(const Rows& rows, std::size_t& row, PipelineWalk& walk) {
  while (row < rows.size() && rows.number(row, 0) == walk.id.value) {
    const auto step = rows.number(row, 1);
    const std::string state = text_of(rows, row, 2);
    std::vector<PipelineWalk::Run> runs;
    const Timestamp entered = rows.time(row, 7);
    walk.visited.push_back(state);
    const auto first_action = static_cast<int>(rows.number(row, 9));
    for (; row < rows.size() && rows.number(row, 0) == walk.id.value && rows.number(row, 1) == step; ++row)
      if (!rows.is_null(row, 3)) runs.push_back(run_of(rows, row));
    if (step == walk.step) {
      walk.runs = std::move(runs);
      walk.entered = entered;
      walk.first_action = first_action;
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
  for (std::size_t row = 0; row < rows->size(); ++row) {
    auto version = versions.read(connection, static_cast<int>(rows->number(row, 2)));
    TRY(version);
    PipelineWalk walk{.id = {rows->number(row, 0)},
                      .org = {rows->number(row, 1)},
                      .client_ref = text_of(*rows, row, 8),
                      .payload = text_of(*rows, row, 9),
                      .metadata = text_of(*rows, row, 7),
                      .version = std::move(*version),
                      .routes = routes_from(rows->text(row, 6)),
                      .step = static_cast<int>(rows->number(row, 4)),
                      .next_action = static_cast<int>(rows->number(row, 5)),
                      .now = rows->time(row, 11),
                      .is_blocked = rows->flag(row, 12)};
    walk.state = walk.pipeline().find(rows->text(row, 3));
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
