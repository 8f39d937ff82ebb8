// Reads a pipeline field by field. Guards and terms are read in guard_reader.cpp.
#include "domain/pipeline_reader.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/duration.h"
#include "base/json_document.h"
#include "base/names.h"
#include "domain/guard_reader.h"
#include "domain/pipeline_check.h"
#include "domain/time_limit.h"

namespace waybill {
namespace {

using Kind = JsonNode::Kind;
using Known = std::vector<std::string_view>;

constexpr std::size_t kMaxListed = 10'000;
constexpr std::string_view kReserved[] = {"intent", "form", "notification", "alert"};

class PipelineReader : public GuardReader {
 public:
  PipelineReader(const std::string& file, bool built_in) : GuardReader(file), built_in_(built_in) { any_root_ = built_in; }

  Pipeline read(const JsonNode& document);

 private:
  std::string name_of(const JsonNode& object, std::string_view field, const std::string& path, bool needed);
  bool flag_of(const JsonNode& object, std::string_view field, const std::string& path);
  std::optional<Millis> duration_of(const JsonNode& object, std::string_view field, const std::string& path);
  std::optional<std::uint32_t> count_of(const JsonNode& at, const std::string& path);
  std::string pointer_of(const JsonNode& object, std::string_view field, const std::string& path, std::string otherwise);
  template <class Read>
  void each(const JsonNode& object, std::string_view field, const std::string& path, std::size_t most, Read read);

  void read_lists(const JsonNode& document);
  PipelineState read_state(const JsonNode& node, const std::string& path);
  PipelineAction read_action(const JsonNode& node, const std::string& path);
  ActionRetry read_retry(const JsonNode& node, const std::string& path);
  PipelineStart read_start(const JsonNode& node, const std::string& path);
  PipelineTransition read_transition(const JsonNode& node, const std::string& path);
  void read_metadata(const JsonNode& node, const std::string& path, PipelineTransition& transition);
  PipelineMetric read_metric(const JsonNode& node, const std::string& path);
  ServiceLevel read_level(const JsonNode& node, const std::string& path);
  void check_names(const Pipeline& pipeline, const JsonNode& document);

  const bool built_in_;
};

std::string PipelineReader::name_of(const JsonNode& object, std::string_view field, const std::string& path, bool needed) {
  const auto text = text_of(object, field, path, needed);
  if (!text.empty() && !is_id(text))
    report(*object.find(field), field_path(path, field),
           "must be letters, digits, _ and -, at most " + std::to_string(kMaxIdLength));
  return text;
}

bool PipelineReader::flag_of(const JsonNode& object, std::string_view field, const std::string& path) {
  const auto* node = object.find(field);
  if (!node) return false;
  if (node->kind != Kind::boolean) report(*node, field_path(path, field), "must be true or false");
  const auto* flag = std::get_if<bool>(&node->scalar);
  return flag && *flag;
}

std::optional<Millis> PipelineReader::duration_of(const JsonNode& object, std::string_view field, const std::string& path) {
  const auto* node = object.find(field);
  if (!node) return std::nullopt;
  const auto duration = node->text() ? parse_duration(*node->text()) : std::nullopt;
  if (duration && *duration > Millis{0} && *duration <= std::chrono::hours(24 * 365)) return duration;
  report(*node, field_path(path, field), "must be a duration such as \"500ms\", \"30s\", \"5m\", \"2h\" or \"5d\", at most 365d");
  return std::nullopt;
}

std::optional<std::uint32_t> PipelineReader::count_of(const JsonNode& at, const std::string& path) {
  const auto* number = std::get_if<std::uint64_t>(&at.scalar);
  if (number && *number >= 1 && *number <= 1000) return static_cast<std::uint32_t>(*number);
  report(at, path, "must be a whole number from 1 to 1000");
  return std::nullopt;
}

std::string PipelineReader::pointer_of(const JsonNode& object, std::string_view field, const std::string& path,
                                       std::string otherwise) {
  const auto* node = object.find(field);
  if (!node) return otherwise;
  check_pointer(*node, field_path(path, field));
  return node->text() ? *node->text() : std::string();
}

template <class Read>
void PipelineReader::each(const JsonNode& object, std::string_view field, const std::string& path, std::size_t most, Read read) {
  const auto* list = object.find(field);
  if (!list) return;
  const auto at = field_path(path, field);
  if (list->kind != Kind::array) return report(*list, at, "must be an array");
  if (list->children.size() > most) return report(*list, at, "must not hold more than " + std::to_string(most));
  for (std::size_t i = 0; i < list->children.size(); ++i) read(list->children[i], field_path(at, i));
}

void PipelineReader::read_lists(const JsonNode& document) {
  const auto* lists = document.find("lists");
  if (!lists) return;
  if (lists->kind != Kind::object) return report(*lists, "lists", "must be an object: a name with an array of strings each");
  for (const auto& list : lists->children) {
    const auto path = field_path("lists", list.key);
    auto& into = lists_[list.key];
    if (list.kind != Kind::array || list.children.empty() || list.children.size() > kMaxListed) {
      report(list, path, "must be an array of 1 to " + std::to_string(kMaxListed) + " strings");
      continue;
    }
    for (const auto& one : list.children) {
      if (one.text())
        into.push_back(*one.text());
      else
        report(one, path, "must hold strings only");
    }
  }
}

ActionRetry PipelineReader::read_retry(const JsonNode& node, const std::string& path) {
  ActionRetry retry;
  if (!expect_object(node, path, {"attempts", "delay", "factor", "maxDelay", "reasons"})) return retry;
  if (const auto* attempts = node.find("attempts"))
    retry.attempts = count_of(*attempts, field_path(path, "attempts")).value_or(1);
  else
    report(node, field_path(path, "attempts"), "is missing");
  const auto delay = duration_of(node, "delay", path);
  if (delay) {
    retry.timing = RetryTiming{.kind = RetryTiming::Kind::exponential, .delay = *delay};
    if (const auto longest = duration_of(node, "maxDelay", path)) retry.timing->max_delay = *longest;
    if (const auto* factor = node.find("factor")) {
      const auto number = number_of(*factor);
      if (number && *number >= 1 && *number <= 100)
        retry.timing->factor = *number;
      else
        report(*factor, field_path(path, "factor"), "must be a number from 1 to 100");
    }
  } else {
    for (const char* field : {"factor", "maxDelay"})
      if (const auto* other = node.find(field)) report(*other, field_path(path, field), "needs a delay beside it");
  }
  if (const auto* reasons = node.find("reasons")) {
    const auto at = field_path(path, "reasons");
    if (reasons->kind != Kind::object) {
      report(*reasons, at, "must be an object: a reason with its number of attempts each");
      return retry;
    }
    for (const auto& reason : reasons->children)
      if (const auto attempts = count_of(reason, field_path(at, reason.key))) retry.by_reason[reason.key] = *attempts;
  }
  return retry;
}

PipelineAction PipelineReader::read_action(const JsonNode& node, const std::string& path) {
  PipelineAction action{.line = node.line};
  if (!expect_object(node, path, {"target", "name", "input", "when", "retry", "timeout"})) return action;
  action.target = text_of(node, "target", path, true);
  action.name = name_of(node, "name", path, false);
  action.input = pointer_of(node, "input", path, "");
  if (const auto* when = node.find("when")) action.when = read_guard(*when, field_path(path, "when"));
  if (const auto* retry = node.find("retry")) action.retry = read_retry(*retry, field_path(path, "retry"));
  if (const auto* timeout = node.find("timeout")) {
    action.timeout = timeout->text() ? time_limit_from(*timeout->text()) : std::nullopt;
    if (!action.timeout) report(*timeout, field_path(path, "timeout"), std::string(kTimeLimitRule));
  }
  return action;
}

PipelineStart PipelineReader::read_start(const JsonNode& node, const std::string& path) {
  PipelineStart start{.line = node.line};
  if (!expect_object(node, path, {"pipeline", "payload", "when"})) return start;
  start.pipeline = name_of(node, "pipeline", path, true);
  start.payload = pointer_of(node, "payload", path, "/payload");
  if (const auto* when = node.find("when")) start.when = read_guard(*when, field_path(path, "when"));
  return start;
}

PipelineState PipelineReader::read_state(const JsonNode& node, const std::string& path) {
  PipelineState state{.name = node.key, .line = node.line};
  if (!is_id(node.key))
    report(node, path, "a state's name must be letters, digits, _ and -, at most " + std::to_string(kMaxIdLength));
  if (!expect_object(node, path, {"description", "terminal", "order", "run", "start"})) return state;
  text_of(node, "description", path, false);
  state.terminal = flag_of(node, "terminal", path);
  const auto order = text_of(node, "order", path, false);
  if (order == "parallel") state.order = ActionOrder::parallel;
  if (order == "attempted" && built_in_)
    state.order = ActionOrder::attempted;
  else if (!order.empty() && order != "parallel" && order != "in_order")
    report(*node.find("order"), field_path(path, "order"), "must be \"in_order\" or \"parallel\"");
  const auto* own = node.find("run");
  state.own_actions = built_in_ && own && own->text() && *own->text() == "own";
  if (!state.own_actions)
    each(node, "run", path, kMaxStateActions,
         [&](const JsonNode& one, const std::string& at) { state.actions.push_back(read_action(one, at)); });
  each(node, "start", path, kMaxStateActions,
       [&](const JsonNode& one, const std::string& at) { state.starts.push_back(read_start(one, at)); });
  std::set<std::string> names;
  for (std::size_t i = 0; i < state.actions.size() && state.actions.size() > 1; ++i) {
    const auto& action = state.actions[i];
    const auto at = field_path(field_path(field_path(path, "run"), i), "name");
    if (action.name.empty())
      problems.push_back({file_, action.line, at, "is missing: a state with several actions names the result of each"});
    else if (!names.insert(action.name).second)
      problems.push_back({file_, action.line, at, "is taken by an action before"});
  }
  return state;
}

void PipelineReader::read_metadata(const JsonNode& node, const std::string& path, PipelineTransition& transition) {
  if (node.kind != Kind::object) return report(node, path, "must be an object: a name with a JSON pointer or a term each");
  for (const auto& one : node.children) transition.metadata.emplace_back(one.key, read_term(one, field_path(path, one.key)));
}

PipelineTransition PipelineReader::read_transition(const JsonNode& node, const std::string& path) {
  PipelineTransition move{.line = node.line};
  const bool is_known =
      built_in_ ? expect_object(node, path,
                                {"from", "to", "trigger", "actor", "on", "when", "otherwise", "description", "audit", "reason"})
                : expect_object(node, path,
                                {"from", "to", "trigger", "actor", "on", "when", "otherwise", "role", "metadata", "description"});
  if (!is_known) return move;
  move.description = text_of(node, "description", path, false);
  if (built_in_) {
    move.reason = text_of(node, "reason", path, false);
    if (auto audit = text_of(node, "audit", path, false); !audit.empty()) move.audit = std::move(audit);
  }
  move.from = name_of(node, "from", path, true);
  move.to = name_of(node, "to", path, true);
  move.trigger = text_of(node, "trigger", path, true);
  const auto actor = text_of(node, "actor", path, true);
  if (actor == "worker") move.actor = ActorKind::worker;
  if (actor == "admin") move.actor = ActorKind::admin;
  if (!actor.empty() && to_string(move.actor) != actor)
    report(*node.find("actor"), field_path(path, "actor"), "must be \"system\", \"worker\" or \"admin\"");
  const auto on = text_of(node, "on", path, false);
  move.on_failure = on == "failure";
  if (built_in_ && !move.on_failure && on != "done")
    move.event = on;
  else if (!on.empty() && on != "failure" && on != "done")
    report(*node.find("on"), field_path(path, "on"), "must be \"done\" or \"failure\"");
  if (const auto* when = node.find("when")) move.when = read_guard(*when, field_path(path, "when"));
  move.otherwise = flag_of(node, "otherwise", path);
  if (move.otherwise && node.find("when"))
    report(*node.find("otherwise"), field_path(path, "otherwise"), "stands instead of a `when`, not beside it");
  if (const auto* role = node.find("role")) {
    move.role = text_of(node, "role", path, true);
    if (move.role != "member" && move.role != "admin" && move.role != "owner")
      report(*role, field_path(path, "role"), "must be \"member\", \"admin\" or \"owner\"");
    if (move.actor != ActorKind::admin) report(*role, field_path(path, "role"), "is for actor \"admin\" only");
  }
  if (move.actor == ActorKind::admin)
    for (const char* field : {"on", "otherwise"})
      if (const auto* other = node.find(field)) report(*other, field_path(path, field), "is for actors system and worker only");
  if (const auto* metadata = node.find("metadata")) read_metadata(*metadata, field_path(path, "metadata"), move);
  return move;
}

PipelineMetric PipelineReader::read_metric(const JsonNode& node, const std::string& path) {
  PipelineMetric metric;
  if (!expect_object(node, path, {"name", "kind", "state"})) return metric;
  metric.name = text_of(node, "name", path, true);
  const bool is_name = !metric.name.empty() && (metric.name[0] < '0' || metric.name[0] > '9') &&
                       std::all_of(metric.name.begin(), metric.name.end(),
                                   [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
  if (!metric.name.empty() && (!is_name || metric.name.size() > kMaxIdLength))
    report(*node.find("name"), field_path(path, "name"), "must be small letters, digits and _, and begin with no digit");
  constexpr std::string_view kOwn[] = {"submissions_received_total", "queue_depth", "job_failure_rate"};
  if (metric.name.starts_with("submission_") || std::find(std::begin(kOwn), std::end(kOwn), metric.name) != std::end(kOwn))
    report(*node.find("name"), field_path(path, "name"), "is a name of Waybill's own");
  const auto kind = text_of(node, "kind", path, true);
  if (kind == "duration") metric.kind = PipelineMetric::Kind::duration;
  if (!kind.empty() && kind != "duration" && kind != "rate")
    report(*node.find("kind"), field_path(path, "kind"), "must be \"duration\" or \"rate\"");
  metric.state = name_of(node, "state", path, true);
  return metric;
}

ServiceLevel PipelineReader::read_level(const JsonNode& node, const std::string& path) {
  ServiceLevel level;
  if (!expect_object(node, path, {"name", "from", "to", "except", "target", "p95"})) return level;
  level.name = text_of(node, "name", path, true);
  level.from = name_of(node, "from", path, false);
  for (const auto& [field, into] : {std::pair{"to", &level.to}, std::pair{"except", &level.except}})
    each(node, field, path, kMaxPipelineStates, [&, list = into](const JsonNode& one, const std::string& at) {
      if (one.text())
        list->push_back(*one.text());
      else
        report(one, at, "must be a state's name");
    });
  for (const char* field : {"target", "p95"})
    if (!node.find(field)) report(node, field_path(path, field), "is missing");
  level.target = duration_of(node, "target", path).value_or(Millis{1});
  level.p95 = duration_of(node, "p95", path).value_or(Millis{1});
  if (level.from.empty() && level.to.empty()) report(node, path, "needs a `from`, a `to`, or both");
  return level;
}

void PipelineReader::check_names(const Pipeline& p, const JsonNode& document) {
  const auto known = [&](const std::string& state, int line, const std::string& field) {
    if (!state.empty() && !p.find(state)) problems.push_back({file_, line, field, "there is no state " + in_quotes(state)});
  };
  const auto line_of = [&](const char* list, std::size_t i) { return document.find(list)->children[i].line; };
  if (const auto* initial = document.find("initial")) known(p.initial, initial->line, "initial");
  for (std::size_t i = 0; i < p.transitions.size(); ++i) {
    const auto at = "transitions[" + std::to_string(i) + "]";
    known(p.transitions[i].from, p.transitions[i].line, at + ".from");
    known(p.transitions[i].to, p.transitions[i].line, at + ".to");
  }
  for (std::size_t i = 0; i < p.metrics.size(); ++i)
    known(p.metrics[i].state, line_of("metrics", i), "metrics[" + std::to_string(i) + "].state");
  for (std::size_t i = 0; i < p.levels.size(); ++i) {
    known(p.levels[i].from, line_of("sla", i), "sla[" + std::to_string(i) + "].from");
    for (const auto& to : p.levels[i].to) known(to, line_of("sla", i), "sla[" + std::to_string(i) + "].to");
    for (const auto& state : p.levels[i].except) known(state, line_of("sla", i), "sla[" + std::to_string(i) + "].except");
  }
}

Pipeline PipelineReader::read(const JsonNode& document) {
  Pipeline p;
  if (!expect_object(document, "",
                     {"$schema", "pipeline", "description", "path", "submit", "reference", "lists", "initial", "states",
                      "transitions", "metrics", "sla"}))
    return p;
  p.name = name_of(document, "pipeline", "", true);
  if (!built_in_ && std::find(std::begin(kReserved), std::end(kReserved), p.name) != std::end(kReserved))
    report(*document.find("pipeline"), "pipeline", "is a name of Waybill's own: " + p.name);
  p.description = text_of(document, "description", "", false);
  p.path = text_of(document, "path", "", false);
  if (!p.path.empty() && p.path != "/forms") report(*document.find("path"), "path", "must be \"/forms\"");
  p.submit_trigger = text_of(document, "submit", "", false);
  if (p.submit_trigger.empty()) p.submit_trigger = "submit";
  p.reference = Term{.at = pointer_of(document, "reference", "", "/metadata/reference")};
  read_lists(document);
  p.lists = lists_;
  p.initial = name_of(document, "initial", "", true);
  if (const auto* states = document.find("states"); !states || states->kind != Kind::object || states->children.empty())
    report(states ? *states : document, "states", "must be an object with a member for each state");
  else if (states->children.size() > kMaxPipelineStates)
    report(*states, "states", "must not hold more than " + std::to_string(kMaxPipelineStates));
  else
    for (const auto& state : states->children) p.states.push_back(read_state(state, field_path("states", state.key)));
  each(document, "transitions", "", kMaxPipelineTransitions,
       [&](const JsonNode& one, const std::string& at) { p.transitions.push_back(read_transition(one, at)); });
  each(document, "metrics", "", 50,
       [&](const JsonNode& one, const std::string& at) { p.metrics.push_back(read_metric(one, at)); });
  each(document, "sla", "", 50, [&](const JsonNode& one, const std::string& at) { p.levels.push_back(read_level(one, at)); });
  check_names(p, document);
  return p;
}

}  // namespace

tl::expected<Pipeline, Problems> read_pipeline(const std::string& text, const std::string& file, PipelineOrigin origin) {
  const auto document = parse_json(text, file);
  if (!document) return tl::unexpected(document.error());
  PipelineReader reader(file, origin == PipelineOrigin::built_in);
  auto pipeline = reader.read(*document);
  if (reader.problems.empty() && origin != PipelineOrigin::stored) reader.problems = check_pipeline(pipeline, file);
  if (!reader.problems.empty()) return tl::unexpected(std::move(reader.problems));
  return pipeline;
}

}  // namespace waybill
