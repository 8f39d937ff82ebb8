// Moves submissions along their pipelines: reads a walk, asks domain/pipeline_step or, about people's decisions,
// domain/pipeline_decisions, and writes what follows.
#include "store/pipelines/pipeline_rows.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/names.h"
#include "store/forms/form_rows.h"
#include "store/forms/forms.sql.h"
#include "store/operations/alerts.sql.h"
#include "store/pipelines/pipeline_walk.h"
#include "store/pipelines/pipelines.sql.h"
#include "store/queue/routes.h"

namespace waybill {
namespace {

std::string places_of(const std::vector<std::size_t>& actions) {
  ArrayText array;
  for (const auto action : actions) array.add(static_cast<std::int64_t>(action));
  return array.take();
}

std::optional<std::string> reference_in(const Facts& facts, const Term& term) {
  const auto value = facts.value(term);
  if (const auto* text = std::get_if<std::string>(&value); text && !text->empty() && !has_control_character(*text)) return *text;
  if (std::holds_alternative<double>(value)) return facts.json_of(term);
  return std::nullopt;
}

PipelineMoved moved_along(const PipelineWalk& walk, const PipelineTransition& transition) {
  PipelineMoved moved{.pipeline = walk.pipeline().name, .to = transition.to, .took = walk.now - walk.entered, .metrics = {}};
  for (const auto& metric : walk.pipeline().metrics)
    if (metric.kind == PipelineMetric::Kind::duration && metric.state == walk.state->name) moved.metrics.push_back(metric.name);
  return moved;
}

// Whether every failure of the state is handled, whatever its actions come to.
bool is_sure_to_handle_failure(const PipelineWalk& walk) {
  const auto& moves = walk.pipeline().transitions;
  return std::any_of(moves.begin(), moves.end(), [&](const PipelineTransition& move) {
    return move.from == walk.state->name && move.is_automatic() && move.on_failure && (move.otherwise || move.when.is_always());
  });
}

// Deliveries of a step that are stored with one statement.
struct ActionColumns {
  ArrayText order, route, payload;
  bool any = false;

  void add(const PipelineWalk& walk, std::size_t place) {
    const auto& run = walk.runs[place];
    order.add(static_cast<std::int64_t>(walk.first_action) + static_cast<std::int64_t>(place));
    route.add(walk.routes.at(walk.version.definition->contract_of(*walk.state, run.action)).value);
    payload.add(walk.input_of(run));
    any = true;
  }
  Parameters take(const PipelineWalk& walk, int next) {
    return {std::to_string(walk.shard()),
            std::to_string(walk.org.value),
            std::to_string(walk.id.value),
            order.take(),
            route.take(),
            payload.take(),
            std::to_string(next)};
  }
};

// It may have been sent before the database was restored, and must not be sent twice.
bool is_in_doubt(const PipelineWalk& walk, const PipelineWalk::Run& run) {
  const auto& definition = *walk.version.definition;
  return walk.restored_to && definition.contracts.at(definition.contract_of(*walk.state, run.action)).policy == Policy::one_shot;
}

// True: some of them have ended at once.
Result<bool> run_actions(Connection& connection, PipelineWalk& walk, const std::vector<std::size_t>& places) {
  ActionColumns due, doubtful;
  for (const auto place : places) {
    auto& run = walk.runs[place];
    const bool doubt = is_in_doubt(walk, run);
    (doubt ? doubtful : due).add(walk, place);
    run.status = doubt ? Status::exhausted : Status::due;
    if (doubt) run.reason = "restored";
  }
  std::size_t last = places.back();  // or what a rerun took over from the step before
  for (std::size_t i = last; i < walk.runs.size(); ++i)
    if (walk.runs[i].status) last = i;
  const auto next = walk.first_action + static_cast<int>(last) + 1;
  if (due.any) {
    auto parameters = due.take(walk, next);
    parameters.emplace_back(std::string(walk.restored_to ? "t" : "f"));
    TRY(connection.run(sql::run_actions, parameters));
  }
  if (doubtful.any) {
    auto parameters = doubtful.take(walk, next);
    parameters.emplace_back(std::string(is_sure_to_handle_failure(walk) ? "f" : "t"));
    TRY(connection.run(sql::end_restored_actions, parameters));
    walk.has_ended_restored = true;
  }
  walk.next_action = next;
  return doubtful.any;
}

bool has_ended_badly(const PipelineWalk::Run& run) { return run.status == Status::rejected || run.status == Status::exhausted; }

Result<void> block(Connection& connection, PipelineWalk& walk, const std::string& why) {
  walk.is_blocked = true;
  auto blocked = connection.run(sql::block_pipeline, {std::to_string(walk.shard()), std::to_string(walk.id.value)});
  TRY(blocked);
  if (blocked->empty() || why.empty()) return {};
  TRY(connection.run(sql::raise_alert,
                     {std::to_string(walk.org.value), "pipeline_stuck", walk.pipeline().name + "/" + walk.state->name,
                      "submission " + walk.client_ref + " of pipeline " + walk.pipeline().name + " cannot leave " +
                          walk.state->name + ": " + why}));
  return {};
}

}  // namespace

Result<std::optional<SubmissionView>> PipelineRows::begin(Connection& connection, const PipelineVersion& version,
                                                          const PipelineBegin& begun) {
  const auto& definition = *version.definition;
  const auto& pipeline = definition.pipeline;
  const Shard shard = shard_for(begun.org, begun.client_ref, shards_);
  if (begun.terms) {
    const auto clock = connection.run(sql::now);
    TRY(clock);
    if (auto fault = terms_fault(begun.terms, clock->front().now()); !fault.empty())
      return fail(Error::Kind::invalid, std::move(fault));
  }
  ArrayText routes;
  for (const auto& contract : definition.contracts) {
    auto route = route_of(connection, begun.org, contract);
    TRY(route);
    routes.add(route->value);
  }
  Facts facts;
  facts.set("/payload", begun.payload);
  facts.set("/metadata", begun.metadata);
  facts.set("/submissionId", json_string(begun.client_ref));
  const auto& initial = *pipeline.find(pipeline.initial);
  const auto actions = actions_to_run(initial, facts);
  const std::string system(to_string(ActorKind::system));
  auto made =
      connection.run(sql::submit_pipeline, {std::to_string(shard),
                                            std::to_string(begun.org.value),
                                            begun.client_ref,
                                            pipeline.name,
                                            pipeline.initial,
                                            bytea(as_view(content_hash(begun))),
                                            begun.payload,
                                            std::to_string(version.id),
                                            routes.take(),
                                            begun.metadata,
                                            reference_in(facts, pipeline.reference),
                                            begun.parent ? std::optional(std::to_string(begun.parent->value)) : std::nullopt,
                                            pipeline.submit_trigger,
                                            system,
                                            system,
                                            places_of(actions),
                                            begun.trace ? std::optional(stored_trace(*begun.trace)) : std::nullopt,
                                            not_before_of(begun.terms),
                                            expires_of(begun.terms),
                                            producer_of(begun.terms)});
  TRY(made);
  if (made->empty()) return std::optional<SubmissionView>{};
  SubmissionView view{.id = {made->front().id()},
                      .org = begun.org,
                      .client_ref = begun.client_ref,
                      .target = pipeline.name,
                      .state = pipeline.initial,
                      .created = made->front().created(),
                      .terms = begun.terms};
  auto walks = read_walks(connection, versions_, shard, {view.id});
  TRY(walks);
  TRY(start_others(connection, walks->front()));
  TRY(go_on(connection, walks->front()));
  view.state = walks->front().state->name;
  return std::optional(std::move(view));
}

Result<bool> PipelineRows::is_there(Connection& connection, const PipelineVersion& version, const PipelineBegin& begun) {
  auto found = connection.run(sql::find_pipeline_submission,
                              {std::to_string(shard_for(begun.org, begun.client_ref, shards_)), std::to_string(begun.org.value),
                               begun.client_ref, bytea(as_view(content_hash(begun)))});
  TRY(found);
  if (found->size() != 1) return false;
  const auto submission = found->front();
  return submission.is_same().value_or(false) && submission.target() == version.definition->pipeline.name;
}

Result<std::set<SubmissionId>> PipelineRows::advance(Connection& connection, Shard shard,
                                                     const std::vector<SubmissionId>& submissions) {
  std::set<SubmissionId> handled;
  if (submissions.empty()) return handled;
  ArrayText wanted;
  for (const auto id : submissions) wanted.add(id.value);
  auto locked = connection.run(sql::lock_walking, {std::to_string(shard), wanted.take()});
  TRY(locked);
  std::vector<SubmissionId> ids;
  for (const auto row : *locked) ids.push_back({row.id()});
  if (ids.empty()) return handled;
  auto walks = read_walks(connection, versions_, shard, ids);
  TRY(walks);
  for (auto& walk : *walks) {
    TRY(go_on(connection, walk));
    if (walk.is_failure_handled) handled.insert(walk.id);
  }
  return handled;
}

Result<void> PipelineRows::enter(Connection& connection, PipelineWalk& walk, const PipelineTransition& transition,
                                 const std::string& actor, const std::string& metadata,
                                 const std::optional<std::vector<std::size_t>>& only) {
  moves_.push_back(moved_along(walk, transition));
  walk.keep_result();
  walk.facts.remove("/result");
  walk.facts.remove("/stage");
  walk.state = walk.pipeline().find(transition.to);
  ++walk.step;
  const auto actions = only ? *only : actions_to_run(*walk.state, walk.facts);
  walk.runs.clear();
  for (const auto action : actions) walk.runs.push_back({.action = action});
  walk.first_action = walk.next_action;
  walk.entered = walk.now;
  walk.has_ended_restored = false;
  TRY(connection.run(sql::move_pipeline,
                     {std::to_string(walk.shard()), std::to_string(walk.id.value), walk.state->name, std::to_string(walk.step),
                      places_of(actions), std::to_string(walk.first_action), walk.state->terminal ? "t" : "f", transition.trigger,
                      actor, std::string(to_string(transition.actor)), metadata}));
  return {};
}

// The letters that its actions had before all of them had ended.
Result<void> PipelineRows::handle_failure(Connection& connection, PipelineWalk& walk) {
  walk.is_failure_handled = true;
  if (walk.runs.size() < 2 && !walk.has_ended_restored) return {};
  TRY(connection.run(sql::drop_letters,
                     {std::to_string(walk.shard()), std::to_string(walk.id.value), std::to_string(walk.first_action)}));
  return {};
}

Result<void> PipelineRows::go_on(Connection& connection, PipelineWalk& walk) {
  for (;;) {
    walk.conclude();
    const auto runs = walk.action_runs();
    const auto next = next_step(walk.pipeline(), *walk.state, runs, walk.facts);
    switch (next.kind) {
      case NextStep::Kind::wait:
        walk.is_failure_handled |=
            std::any_of(walk.runs.begin(), walk.runs.end(), has_ended_badly) && is_sure_to_handle_failure(walk);
        return {};
      case NextStep::Kind::run: {
        const auto some_have_ended = run_actions(connection, walk, next.actions);
        TRY(some_have_ended);
        if (!*some_have_ended) return {};
        break;
      }
      case NextStep::Kind::blocked:
        return block(connection, walk,
                     walk.has_ended_restored ? "an action may have been sent before the database was restored"
                     : has_failed(runs)      ? ""
                                             : "no transition is open");
      case NextStep::Kind::move:
        if (static_cast<std::uint32_t>(walk.step) >= kMaxSteps)
          return block(connection, walk, "it has entered " + std::to_string(kMaxSteps) + " states");
        if (next.transition->on_failure) TRY(handle_failure(connection, walk));
        TRY(enter(connection, walk, *next.transition, std::string(to_string(next.transition->actor)),
                  walk.metadata_of(*next.transition, ""), {}));
        TRY(start_others(connection, walk));
    }
  }
}

// The submissions that a state begins. Their ids are made of this one's, so that each is begun once.
Result<void> PipelineRows::start_others(Connection& connection, const PipelineWalk& walk) {
  for (std::size_t i = 0; i < walk.state->starts.size(); ++i) {
    const auto& start = walk.state->starts[i];
    if (!holds(start.when, walk.facts)) continue;
    auto version = versions_.find(connection, walk.version.definition->start_hashes.at(start.pipeline));
    TRY(version);
    const auto payload = walk.facts.json_of(Term{.at = start.payload});
    auto begun = begin(connection, *version,
                       {.org = walk.org,
                        .client_ref = walk.client_ref + "~" + start.pipeline + "~" + std::to_string(walk.step) +
                                      (i == 0 ? "" : "." + std::to_string(i)),
                        .payload = payload.empty() ? "null" : payload,
                        .metadata = walk.metadata,
                        .parent = walk.id});
    TRY(begun);
    if (!*begun)
      TRY(connection.run(
          sql::raise_alert,
          {std::to_string(walk.org.value), "pipeline_stuck", walk.pipeline().name + "/" + start.pipeline,
           "submission " + walk.client_ref + " could not start " + start.pipeline + ": the id that it would get is taken"}));
  }
  return {};
}

Result<void> PipelineRows::halt(Connection& connection, SubmissionId submission) {
  auto blocked = connection.run(sql::block_pipeline, {std::to_string(shard_of(submission)), std::to_string(submission.value)});
  TRY(blocked);
  if (blocked->empty()) return {};
  const auto org = blocked->front().org_id();
  const std::string pipeline(blocked->front().pipeline()), state(blocked->front().state());
  TRY(connection.run(sql::raise_alert, {std::to_string(org), "pipeline_stuck", pipeline + "/" + state,
                                        "what follows from an action of state " + state + " of pipeline " + pipeline +
                                            " cannot be stored; the host's log says why"}));
  return {};
}

Result<TransitionResult> PipelineRows::transition(Connection& connection, Shard shard, SubmissionId submission,
                                                  const std::string& seen, const ManualTransition& wanted) {
  auto walks = read_walks(connection, versions_, shard, {submission});
  TRY(walks);
  auto& walk = walks->front();
  const auto [along, refused] = decide(wanted, walk.place(), seen);
  if (along == nullptr) return refused;
  auto free = cancel_open(connection, submission);
  TRY(free);
  if (!*free)  // an error: what was cancelled is taken back
    return fail(Error::Kind::conflict,
                "an action of state " + walk.state->name + " is being attempted; try again when it has ended");
  TRY(enter(connection, walk, *along, wanted.actor, walk.metadata_of(*along, wanted.comment), {}));
  TRY(start_others(connection, walk));
  TRY(go_on(connection, walk));
  return TransitionResult{TransitionResult::How::moved, walk.state->name, {}};
}

Sha256 content_hash(const PipelineBegin& begun) { return sha256(begun.payload + '\0' + begun.metadata); }

}  // namespace waybill
