// Reads the settings' own notations: counts, durations, words, paths.
#include "config/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json_document.h"

namespace waybill::config {
namespace {

template <class Number>
bool read_all(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string range(const std::string& least, const std::string& most) { return "from " + least + " to " + most; }

std::string format_number(double value) {
  auto text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// What the operator wrote, cut to a length that suits a message.
std::string shown(const Node& node) {
  constexpr std::size_t kMax = 60;
  switch (node.kind) {
    case Node::Kind::empty:
      return "empty";
    case Node::Kind::list:
      return "a list";
    case Node::Kind::map:
      return "a mapping";
    case Node::Kind::scalar:
      break;
  }
  if (node.text.size() > kMax) return "a text of " + std::to_string(node.text.size()) + " bytes";
  Node quoted = node;
  quoted.plain = false;
  return to_json(quoted);
}

}  // namespace

Value Value::child(const Node& node) const { return {node, file_, field_below(field_, node.key), folder_, problems_}; }

Value Value::element(std::size_t index) const {
  return {node_.children[index], file_, field_path(field_, index), folder_, problems_};
}

void Value::fail(std::string message) const {
  const int line = file_.empty() ? 0 : node_.line;  // a variable has no lines that a person would count
  problems_.push_back({file_, line, field_, std::move(message)});
}

void Value::refuse(std::string_view allowed) const { fail(std::string("must be ").append(allowed) + ", not " + shown(node_)); }

bool Value::is_scalar(std::string_view allowed) const {
  if (node_.kind == Node::Kind::scalar) return true;
  refuse(allowed);
  return false;
}

bool Value::expect_map(std::string_view shape) const {
  if (node_.kind == Node::Kind::map) return true;
  fail(std::string("must be a mapping such as ").append(shape));
  return false;
}

void Value::count(std::size_t& into, std::size_t least, std::size_t most) const {
  const auto allowed = "a whole number " + range(std::to_string(least), std::to_string(most));
  if (!is_scalar(allowed)) return;
  std::size_t value = 0;
  if (!node_.plain || !read_all(node_.text, value) || value < least || value > most) return refuse(allowed);
  into = value;
}

void Value::duration(Millis& into, Millis least, Millis most) const {
  const auto allowed =
      "a duration " + range(format_duration(least), format_duration(most)) + ", a whole number with its unit ms, s, m, h or d";
  if (!is_scalar(allowed)) return;
  const auto value = parse_duration(node_.text);
  if (!value || *value < least || *value > most) return refuse(allowed);
  into = *value;
}

void Value::number(double& into, double least, double most) const {
  const auto allowed = "a number " + range(format_number(least), format_number(most));
  if (!is_scalar(allowed)) return;
  double value = 0;
  if (!node_.plain || !read_all(node_.text, value) || !std::isfinite(value) || value < least || value > most)
    return refuse(allowed);
  into = value;
}

void Value::flag(bool& into) const {
  if (!is_scalar("true or false")) return;
  if (!node_.plain || (node_.text != "true" && node_.text != "false")) return refuse("true or false");
  into = node_.text == "true";
}

void Value::word(std::string& into, std::initializer_list<std::string_view> allowed) const {
  std::string list = "one of ";
  for (const auto& one : allowed) list.append(&one == allowed.begin() ? "" : ", ").append(one);
  if (!is_scalar(list)) return;
  if (std::find(allowed.begin(), allowed.end(), node_.text) == allowed.end()) return refuse(list);
  into = node_.text;
}

void Value::path(std::filesystem::path& into) const {
  if (!is_scalar("a path")) return;
  if (node_.text.empty() || node_.text.find('\0') != std::string::npos) return refuse("a path");
  into = (folder_ / node_.text).lexically_normal();
}

std::optional<std::string> Value::text(std::string_view allowed) const {
  if (node_.kind == Node::Kind::scalar && !node_.text.empty() && node_.text.find('\0') == std::string::npos) return node_.text;
  fail(std::string("must be ").append(allowed));
  return std::nullopt;
}

}  // namespace waybill::config
