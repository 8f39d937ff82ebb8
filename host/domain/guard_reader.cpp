// Guards and terms as pipeline files have them.
#include "domain/guard_reader.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/names.h"

namespace waybill {
namespace {

using Kind = JsonNode::Kind;

constexpr std::string_view kTermFields[] = {"at", "urlPart", "match", "group", "count", "ignoreCase"};
constexpr std::string_view kGroups[] = {"all", "any", "not"};
constexpr std::string_view kComparisons[] = {"equals",  "notEquals", "lessThan", "atMost", "moreThan",
                                             "atLeast", "in",        "notIn",    "exists", "matches"};

template <class Words>
bool is_one_of(std::string_view word, const Words& words) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

bool is_url_part(std::string_view text) {
  if (text == "scheme" || text == "host" || text == "path") return true;
  return text.starts_with("path/") && text.size() > 5 && text.size() < 9 &&
         text.find_first_not_of("0123456789", 5) == std::string_view::npos;
}

Guard negated(Guard guard) {
  Guard none{.kind = Guard::Kind::none};
  none.children.push_back(std::move(guard));
  return none;
}

}  // namespace

void GuardReader::report(const JsonNode& at, std::string field, std::string message) {
  problems.push_back({file_, at.line, std::move(field), std::move(message)});
}

bool GuardReader::expect_object(const JsonNode& node, const std::string& path, std::initializer_list<std::string_view> known) {
  if (node.kind != Kind::object) {
    report(node, path, "must be an object");
    return false;
  }
  for (const auto& member : node.children)
    if (!is_one_of(member.key, known))
      report(member, field_path(path, member.key), "unknown field (known here: " + list_of(known) + ")");
  return true;
}

std::string GuardReader::text_of(const JsonNode& object, std::string_view field, const std::string& path, bool needed) {
  const auto* node = object.find(field);
  const auto where = field_path(path, field);
  if (!node) {
    if (needed) report(object, where, "is missing");
    return {};
  }
  if (!node->text())
    report(*node, where, "must be a string");
  else if (node->text()->empty() || node->text()->size() > kMaxTextLength || has_control_character(*node->text()))
    report(*node, where, "must be 1 to " + std::to_string(kMaxTextLength) + " bytes without control characters");
  else
    return *node->text();
  return {};
}

void GuardReader::check_pointer(const JsonNode& node, const std::string& path) {
  if (!node.text() || !is_json_pointer(*node.text()))
    return report(node, path, "must be a JSON pointer such as \"/result/score\"");
  static constexpr std::string_view kRoots[] = {"payload", "results", "result", "metadata", "stage", "submissionId"};
  const std::string_view text = *node.text();
  const auto root = text.substr(std::min<std::size_t>(1, text.size()), text.find('/', 1) - std::min<std::size_t>(1, text.size()));
  if (!any_root_ && !text.empty() && !is_one_of(root, kRoots))
    report(node, path, "must begin with one of /payload, /result, /results, /metadata, /stage, /submissionId");
}

std::optional<double> GuardReader::number_of(const JsonNode& node) {
  if (const auto* number = std::get_if<double>(&node.scalar)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&node.scalar)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&node.scalar)) return static_cast<double>(*number);
  return std::nullopt;
}

Term GuardReader::read_parts(const JsonNode& node, const std::string& path) {
  Term term;
  const auto* at = node.find("at");
  if (!at)
    report(node, field_path(path, "at"), "is missing");
  else
    check_pointer(*at, field_path(path, "at"));
  if (at && at->text()) term.at = *at->text();
  term.url_part = text_of(node, "urlPart", path, false);
  if (!term.url_part.empty() && !is_url_part(term.url_part))
    report(*node.find("urlPart"), field_path(path, "urlPart"),
           "must be \"scheme\", \"host\", \"path\", or \"path/N\" with the number of a segment from 0");
  term.match_text = text_of(node, "match", path, false);
  if (!term.match_text.empty()) {
    term.match = compile_pattern(term.match_text);
    if (!term.match) report(*node.find("match"), field_path(path, "match"), "is no regular expression");
  }
  if (const auto* group = node.find("group")) {
    const auto number = number_of(*group);
    if (!term.match || !number || *number < 0 || *number > 20 || *number != static_cast<int>(*number))
      report(*group, field_path(path, "group"), "must be the number of a group of `match`, from 0 to 20");
    else
      term.group = static_cast<int>(*number);
  }
  for (const auto& [field, into] : {std::pair{"count", &term.count}, std::pair{"ignoreCase", &term.ignore_case}}) {
    const auto* flag = node.find(field);
    if (!flag) continue;
    if (const auto* value = std::get_if<bool>(&flag->scalar))
      *into = *value;
    else
      report(*flag, field_path(path, field), "must be true or false");
  }
  if (term.count && (!term.url_part.empty() || term.match))
    report(*node.find("count"), field_path(path, "count"), "stands alone: it counts what `at` names");
  return term;
}

Term GuardReader::read_term(const JsonNode& node, const std::string& path) {
  if (node.kind == Kind::object) {
    expect_object(node, path, {"at", "urlPart", "match", "group", "count", "ignoreCase"});
    return read_parts(node, path);
  }
  check_pointer(node, path);
  return Term{.at = node.text() ? *node.text() : std::string()};
}

void GuardReader::read_list(const JsonNode& op, const std::string& path, Guard& guard) {
  if (op.text()) {
    const auto list = lists_.find(*op.text());
    if (list == lists_.end()) return report(op, path, "there is no list " + in_quotes(*op.text()));
    guard.list_name = list->first;
    guard.list = list->second;
  } else if (op.kind == Kind::array && !op.children.empty()) {
    for (const auto& one : op.children) {
      if (one.text())
        guard.list.push_back(*one.text());
      else
        report(one, path, "must hold strings only");
    }
  } else {
    report(op, path, "must be the name of a list, or an array of strings");
  }
  if (guard.term.ignore_case)
    for (auto& one : guard.list) one = lower_ascii(std::move(one));
}

std::optional<Guard> GuardReader::read_comparison(const JsonNode& op, const std::string& path, const Term& term) {
  Guard guard{.term = term};
  const auto number = [&](Guard::Kind kind) {
    guard.kind = kind;
    const auto value = number_of(op);
    if (!value) report(op, path, "must be a number");
    guard.value = value.value_or(0);
    return guard;
  };
  if (op.key == "lessThan") return number(Guard::Kind::less);
  if (op.key == "atMost") return number(Guard::Kind::at_most);
  if (op.key == "moreThan") return number(Guard::Kind::more);
  if (op.key == "atLeast") return number(Guard::Kind::at_least);
  if (op.key == "in" || op.key == "notIn") {
    guard.kind = Guard::Kind::in;
    read_list(op, path, guard);
    return op.key == "in" ? guard : negated(std::move(guard));
  }
  if (op.key == "equals" || op.key == "notEquals") {
    guard.kind = Guard::Kind::equals;
    if (op.text())
      guard.value = term.ignore_case ? lower_ascii(*op.text()) : *op.text();
    else if (op.kind == Kind::boolean)
      guard.value = std::get<bool>(op.scalar);
    else if (op.kind == Kind::null)
      guard.value = JsonNull{};
    else if (const auto value = number_of(op))
      guard.value = *value;
    else
      report(op, path, "must be a string, a number, true, false or null");
    return op.key == "equals" ? guard : negated(std::move(guard));
  }
  if (op.key == "exists") {
    guard.kind = Guard::Kind::exists;
    if (op.kind != Kind::boolean) report(op, path, "must be true or false");
    const auto* is_there = std::get_if<bool>(&op.scalar);
    return is_there && !*is_there ? negated(std::move(guard)) : guard;
  }
  guard.kind = Guard::Kind::matches;
  if (term.match) report(op, path, "stands instead of `match`, not beside it");
  if (!op.text()) {
    report(op, path, "must be a regular expression");
    return guard;
  }
  guard.term.match_text = *op.text();
  guard.term.group = 0;
  guard.term.match = compile_pattern(*op.text());
  if (!guard.term.match) report(op, path, "is no regular expression");
  return guard;
}

Guard GuardReader::read_guard(const JsonNode& node, const std::string& path) {
  Guard guard;
  if (node.kind != Kind::object) {
    report(node, path, "must be an object: a comparison, or all, any or not");
    return guard;
  }
  const auto* first = node.children.empty() ? nullptr : &node.children.front();
  if (first && node.children.size() == 1 && is_one_of(first->key, kGroups)) {
    const auto at = field_path(path, first->key);
    if (first->key == "not") {
      guard.kind = Guard::Kind::none;
      guard.children.push_back(read_guard(*first, at));
      return guard;
    }
    guard.kind = first->key == "all" ? Guard::Kind::all : Guard::Kind::any;
    if (first->kind != Kind::array || first->children.empty()) report(*first, at, "must be an array of guards");
    for (std::size_t i = 0; i < first->children.size() && first->kind == Kind::array; ++i)
      guard.children.push_back(read_guard(first->children[i], field_path(at, i)));
    return guard;
  }
  const Term term = read_parts(node, path);
  for (const auto& member : node.children) {
    if (is_one_of(member.key, kTermFields)) continue;
    if (!is_one_of(member.key, kComparisons)) {
      report(member, field_path(path, member.key),
             "unknown field (known here: all, any or not alone; " + list_of(kTermFields) + ", " + list_of(kComparisons) + ")");
      continue;
    }
    if (auto one = read_comparison(member, field_path(path, member.key), term)) guard.children.push_back(std::move(*one));
  }
  if (guard.children.empty()) report(node, path, "compares with nothing: it needs one of " + list_of(kComparisons));
  if (guard.children.size() == 1) return std::move(guard.children.front());
  return guard;
}

}  // namespace waybill
