// Checks a pipeline as a whole. Guards are tried on one value of each kind that they tell apart, in every combination.
#include "domain/pipeline_check.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "base/json_document.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxCases = 100'000;
constexpr std::string_view kResult = "/result";

bool is_of_result(const Term& term) { return term.at == kResult || term.at.starts_with("/result/"); }

void each_comparison(const Guard& guard, const std::function<void(const Guard&)>& visit) {
  if (guard.kind != Guard::Kind::all && guard.kind != Guard::Kind::any && guard.kind != Guard::Kind::none) return visit(guard);
  for (const auto& child : guard.children) each_comparison(child, visit);
}

// What the guards of some transitions compare one term with.
struct Variable {
  Term term;
  std::vector<Guard> comparisons;
  std::set<std::string> types;
  bool may_be_missing = false;
  bool may_be_left_out = false;  // its action is, by a condition of its own

  bool is_needed() const {
    return is_of_result(term) && term.url_part.empty() && !term.match && !term.count && !may_be_missing && types.size() == 1;
  }
};
using Variables = std::map<std::string, Variable>;

void add_comparison(Variables& variables, const Guard& guard) {
  auto& variable = variables[guard.term.key()];
  variable.term = guard.term;
  variable.comparisons.push_back(guard);
  switch (guard.kind) {
    case Guard::Kind::less:
    case Guard::Kind::at_most:
    case Guard::Kind::more:
    case Guard::Kind::at_least:
      variable.types.insert("number");
      break;
    case Guard::Kind::in:
      variable.types.insert("string");
      break;
    case Guard::Kind::equals:
      if (std::holds_alternative<bool>(guard.value))
        variable.types.insert("boolean");
      else if (std::holds_alternative<double>(guard.value))
        variable.types.insert("number");
      else if (std::holds_alternative<std::string>(guard.value))
        variable.types.insert("string");
      else
        variable.may_be_missing = true;
      break;
    default:
      variable.may_be_missing = true;
  }
}

Variables variables_of(const std::vector<const PipelineTransition*>& moves) {
  Variables variables;
  for (const auto* move : moves) each_comparison(move->when, [&](const Guard& guard) { add_comparison(variables, guard); });
  // A value that is asked for by itself and by a part of it may be there or not for both.
  for (auto& [key, variable] : variables)
    for (const auto& [other_key, other] : variables)
      if (other.term.at == variable.term.at && other.may_be_missing) variable.may_be_missing = true;
  return variables;
}

bool may_be_left_out(const PipelineState& state, const Term& term) {
  return std::any_of(state.actions.begin(), state.actions.end(), [&](const PipelineAction& action) {
    const std::string own = state.actions.size() == 1 ? std::string(kResult) : "/result/" + action.name;
    return !action.when.is_always() && (term.at == kResult || term.at == own || term.at.starts_with(own + "/"));
  });
}

std::vector<JsonValue> candidates(const Variable& variable) {
  std::set<double> numbers;
  std::set<std::string> texts;
  for (const auto& guard : variable.comparisons) {
    if (const auto* number = std::get_if<double>(&guard.value)) numbers.insert(*number);
    if (const auto* text = std::get_if<std::string>(&guard.value)) texts.insert(*text);
    texts.insert(guard.list.begin(), guard.list.end());
  }
  std::vector<JsonValue> all;
  if (variable.term.count) {
    for (const double number : numbers)
      for (const double whole : {std::floor(number), std::floor(number) + 1}) all.emplace_back(std::max(0.0, whole));
  } else if (!numbers.empty()) {
    all.emplace_back(std::min(*numbers.begin() - 1, std::nextafter(*numbers.begin(), -HUGE_VAL)));
    for (auto at = numbers.begin(); at != numbers.end(); ++at) {
      all.emplace_back(*at);
      const auto next = std::next(at);
      all.emplace_back(next == numbers.end() ? std::max(*at + 1, std::nextafter(*at, HUGE_VAL)) : std::midpoint(*at, *next));
    }
  }
  for (const auto& text : texts) all.emplace_back(text);
  if (variable.types.contains("string") || variable.may_be_missing) {
    std::string other = "something else";
    while (texts.contains(other)) other += "!";
    all.emplace_back(other);
  }
  if (variable.types.contains("boolean")) {
    all.emplace_back(true);
    all.emplace_back(false);
  }
  if (!variable.is_needed()) {
    all.emplace_back(JsonMissing{});
    all.emplace_back(JsonNull{});
    all.emplace_back(JsonCompound{});
  } else if (variable.may_be_left_out) {
    all.emplace_back(JsonMissing{});
  }
  // Values that no comparison tells apart are one case.
  std::set<std::vector<bool>> seen;
  std::vector<JsonValue> different;
  for (auto& value : all) {
    std::vector<bool> answers;
    for (const auto& guard : variable.comparisons) answers.push_back(holds(guard, [&](const Term&) { return value; }));
    if (seen.insert(answers).second) different.push_back(std::move(value));
  }
  return different;
}

class Checker {
 public:
  Checker(const Pipeline& pipeline, const std::string& file) : pipeline_(pipeline), file_(file) {}

  Problems run() {
    check_pointers();
    check_reach();
    for (const auto& state : pipeline_.states) check_state(state);
    check_loops();
    return std::move(problems_);
  }

 private:
  void report(int line, std::string field, std::string message) {
    problems_.push_back({file_, line, std::move(field), std::move(message)});
  }
  std::string field_of(const PipelineTransition& move) const {
    return "transitions[" + std::to_string(&move - pipeline_.transitions.data()) + "]";
  }

  // Results are those of states that there are.
  void check_pointers() {
    const auto check = [&](const std::string& at, int line, const std::string& field) {
      constexpr std::string_view kResults = "/results/";
      if (!at.starts_with(kResults)) return;
      const auto name = at.substr(kResults.size(), at.find('/', kResults.size()) - kResults.size());
      if (!pipeline_.find(name))
        report(line, field, "there is no state " + in_quotes(name) + ", whose result " + at + " would be");
    };
    const auto check_guard = [&](const Guard& guard, int line, const std::string& field) {
      each_comparison(guard, [&](const Guard& one) { check(one.term.at, line, field); });
    };
    for (const auto& state : pipeline_.states) {
      const auto field = field_path("states", state.name);
      for (const auto& action : state.actions) {
        check(action.input, action.line, field + ".run.input");
        check_guard(action.when, action.line, field + ".run.when");
      }
      for (const auto& start : state.starts) {
        check(start.payload, start.line, field + ".start.payload");
        check_guard(start.when, start.line, field + ".start.when");
      }
    }
    for (const auto& move : pipeline_.transitions) {
      check_guard(move.when, move.line, field_of(move) + ".when");
      for (const auto& [name, term] : move.metadata) check(term.at, move.line, field_of(move) + ".metadata." + name);
    }
  }

  void check_reach() {
    std::set<std::string> reached{pipeline_.initial}, ending;
    for (const auto& state : pipeline_.states)
      if (state.terminal) ending.insert(state.name);
    if (ending.empty()) report(0, "states", "no state is terminal: nothing would ever end");
    for (std::size_t round = 0; round < pipeline_.states.size(); ++round)
      for (const auto& move : pipeline_.transitions) {
        if (reached.contains(move.from)) reached.insert(move.to);
        if (ending.contains(move.to)) ending.insert(move.from);
      }
    for (const auto& state : pipeline_.states) {
      const auto field = field_path("states", state.name);
      if (!reached.contains(state.name)) report(state.line, field, "no transition reaches this state");
      const bool is_left = std::any_of(pipeline_.transitions.begin(), pipeline_.transitions.end(),
                                       [&](const auto& move) { return move.from == state.name && !move.on_failure; });
      if (!state.terminal && !is_left)
        report(state.line, field, "no transition leaves this state, and it is not terminal");
      else if (!state.terminal && !ending.contains(state.name))
        report(state.line, field, "no way leads from this state to a terminal one");
    }
  }

  void check_state(const PipelineState& state) {
    std::vector<const PipelineTransition*> done, failed, manual;
    for (const auto& move : pipeline_.transitions) {
      if (move.from != state.name) continue;
      if (state.terminal) report(move.line, field_of(move) + ".from", state.name + " is terminal: nothing leaves it");
      (!move.is_automatic() ? manual : move.on_failure ? failed : done).push_back(&move);
      if (move.on_failure && state.actions.empty() && !state.own_actions)
        report(move.line, field_of(move) + ".on", state.name + " runs no action that could fail");
      each_comparison(move.when, [&](const Guard& guard) {
        if (is_of_result(guard.term) && state.actions.empty())
          report(move.line, field_of(move) + ".when", state.name + " runs no action, so it has no " + guard.term.at);
        if (is_of_result(guard.term) && (move.on_failure || move.actor == ActorKind::admin))
          report(move.line, field_of(move) + ".when", "only transitions on \"done\" can ask for " + guard.term.at);
      });
    }
    if (state.terminal) return;
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto* move : manual)
      if (!seen.emplace(move->to, move->trigger).second)
        report(move->line, field_of(*move),
               "the same as another one: from " + move->from + " to " + move->to + " by " + move->trigger);
    check_choice(state, done, manual.empty());
    check_choice(state, failed, false);
  }

  // At most one transition may be open in each case; with `is_whole` exactly one.
  void check_choice(const PipelineState& state, const std::vector<const PipelineTransition*>& moves, bool is_whole) {
    if (moves.empty()) return;
    const bool has_other = std::any_of(moves.begin(), moves.end(), [](const auto* move) { return move->otherwise; });
    auto variables = variables_of(moves);
    for (auto& [key, variable] : variables) variable.may_be_left_out = may_be_left_out(state, variable.term);
    std::vector<std::pair<std::string, std::vector<JsonValue>>> cases;
    std::size_t count = 1;
    for (const auto& [key, variable] : variables) {
      cases.emplace_back(key, candidates(variable));
      count *= std::max<std::size_t>(1, cases.back().second.size());
      if (count > kMaxCases)
        return report(state.line, field_path("states", state.name), "its transitions depend on too many values to be checked");
    }
    std::size_t others = 0;
    for (const auto* move : moves)
      if (move->otherwise && ++others > 1)
        return report(move->line, field_of(*move), "a state has one transition with `otherwise` at most");
    for (std::size_t number = 0; number < count; ++number) {
      std::map<std::string, JsonValue> values;
      std::size_t rest = number;
      for (const auto& [key, all] : cases) {
        values[key] = all[rest % all.size()];
        rest /= all.size();
      }
      const auto value_of = [&](const Term& term) { return values.at(term.key()); };
      std::vector<const PipelineTransition*> open;
      for (const auto* move : moves)
        if (!move->otherwise && holds(move->when, value_of)) open.push_back(move);
      const auto words = [&] {
        std::string text;
        for (const auto& [key, variable] : variables)
          text += (text.empty() ? "for " : ", ") + to_text(variable.term) + " = " + to_text(values.at(key));
        return text.empty() ? std::string("always") : text;
      };
      if (open.size() > 1)
        return report(open[1]->line, field_of(*open[1]),
                      "overlaps " + field_of(*open[0]) + " (line " + std::to_string(open[0]->line) + ") " + words());
      if (open.empty() && !has_other && is_whole)
        return report(state.line, field_path("states", state.name), "no transition leaves it " + words());
    }
  }

  // Without people, each submission comes to an end.
  void check_loops() {
    std::map<std::string, std::vector<const PipelineTransition*>> moves;
    for (const auto& move : pipeline_.transitions)
      if (move.is_automatic()) moves[move.from].push_back(&move);
    std::set<std::string> clear;
    std::vector<std::string> way;
    const std::function<bool(const std::string&)> walk = [&](const std::string& state) {
      if (clear.contains(state)) return false;
      if (std::find(way.begin(), way.end(), state) != way.end()) return true;
      way.push_back(state);
      for (const auto* move : moves[state])
        if (walk(move->to)) {
          if (reported_) return true;
          reported_ = true;
          report(move->line, field_of(*move), "leads back to " + move->to + " with nobody to decide: it could go round for ever");
          return true;
        }
      way.pop_back();
      clear.insert(state);
      return false;
    };
    for (const auto& state : pipeline_.states) {
      way.clear();
      walk(state.name);
    }
  }

  const Pipeline& pipeline_;
  const std::string& file_;
  bool reported_ = false;
  Problems problems_;
};

}  // namespace

Problems check_pipeline(const Pipeline& pipeline, const std::string& file) { return Checker(pipeline, file).run(); }

std::vector<NeededValue> needed_values(const Pipeline& pipeline, const PipelineState& state) {
  std::vector<const PipelineTransition*> done;
  for (const auto& move : pipeline.transitions)
    if (move.from == state.name && move.is_automatic() && !move.on_failure) done.push_back(&move);
  std::vector<NeededValue> needed;
  for (const auto& [key, variable] : variables_of(done))
    if (variable.is_needed()) needed.push_back({variable.term.at.substr(kResult.size()), *variable.types.begin()});
  return needed;
}

}  // namespace waybill
