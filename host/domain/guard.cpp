// Conditions: what they say of a value, and how they read.
#include "domain/guard.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/json_writer.h"

namespace waybill {
namespace {

template <class Compare>
bool compare(const Guard& guard, const JsonValue& found, Compare compare) {
  const auto* left = std::get_if<double>(&found);
  const auto* right = std::get_if<double>(&guard.value);
  return left && right && compare(*left, *right);
}

std::string joined(const Guard& guard, const char* word) {
  std::string text;
  for (const auto& child : guard.children) {
    const bool is_group = child.kind == Guard::Kind::any || child.kind == Guard::Kind::all;
    text += (text.empty() ? "" : word) + (is_group ? "(" + to_text(child) + ")" : to_text(child));
  }
  return text;
}

}  // namespace

bool holds(const Guard& guard, const std::function<JsonValue(const Term&)>& value_of) {
  using Kind = Guard::Kind;
  const auto child_holds = [&](const Guard& child) { return holds(child, value_of); };
  switch (guard.kind) {
    case Kind::all:
      return std::all_of(guard.children.begin(), guard.children.end(), child_holds);
    case Kind::any:
      return std::any_of(guard.children.begin(), guard.children.end(), child_holds);
    case Kind::none:
      return std::none_of(guard.children.begin(), guard.children.end(), child_holds);
    default:
      break;
  }
  const JsonValue found = value_of(guard.term);
  switch (guard.kind) {
    case Kind::equals:
      return found == guard.value;
    case Kind::less:
      return compare(guard, found, std::less<>());
    case Kind::at_most:
      return compare(guard, found, std::less_equal<>());
    case Kind::more:
      return compare(guard, found, std::greater<>());
    case Kind::at_least:
      return compare(guard, found, std::greater_equal<>());
    case Kind::in: {
      const auto* text = std::get_if<std::string>(&found);
      return text && std::find(guard.list.begin(), guard.list.end(), *text) != guard.list.end();
    }
    case Kind::exists:
    case Kind::matches:  // the term's pattern is the question
      return !std::holds_alternative<JsonMissing>(found);
    default:
      return false;
  }
}

std::string to_text(const JsonValue& value) {
  struct Words {
    std::string operator()(JsonMissing) const { return "nothing"; }
    std::string operator()(JsonNull) const { return "null"; }
    std::string operator()(JsonCompound) const { return "an array or object"; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(double number) const {
      char text[40];
      std::snprintf(text, sizeof text, "%.15g", number);
      return text;
    }
    std::string operator()(const std::string& text) const { return json_string(text); }
  };
  return std::visit(Words{}, value);
}

std::string to_text(const Term& term) {
  std::string text = term.at;
  if (!term.url_part.empty()) text = "URL's " + term.url_part + " of " + text;
  if (term.match) text += " ~ " + json_string(term.match_text) + (term.group > 0 ? " group " + std::to_string(term.group) : "");
  if (term.count) text = "count of " + text;
  return text;
}

std::string to_text(const Guard& guard) {
  using Kind = Guard::Kind;
  const auto comparison = [&](const char* sign) { return to_text(guard.term) + sign + to_text(guard.value); };
  switch (guard.kind) {
    case Kind::all:
      return guard.children.empty() ? "always" : joined(guard, " and ");
    case Kind::any:
      return joined(guard, " or ");
    case Kind::none:
      return "not (" + joined(guard, " or ") + ")";
    case Kind::equals:
      return comparison(" = ");
    case Kind::less:
      return comparison(" < ");
    case Kind::at_most:
      return comparison(" <= ");
    case Kind::more:
      return comparison(" > ");
    case Kind::at_least:
      return comparison(" >= ");
    case Kind::in: {
      if (!guard.list_name.empty()) return to_text(guard.term) + " in " + guard.list_name;
      std::string list;
      for (const auto& one : guard.list) list += (list.empty() ? "" : ", ") + json_string(one);
      return to_text(guard.term) + " in [" + list + "]";
    }
    case Kind::exists:
      return to_text(guard.term) + " is there";
    case Kind::matches:
      return to_text(guard.term);
  }
  return {};
}

}  // namespace waybill
