// The descriptions of valijson, and what the schema says at their place.
#include "base/schema_words.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json_document.h"
#include "base/nearest.h"

namespace waybill {
namespace {

using Schema = nlohmann::json;

const Schema* member(const Schema* schema, const char* name) {
  if (schema == nullptr || !schema->is_object()) return nullptr;
  const auto found = schema->find(name);
  return found == schema->end() ? nullptr : &*found;
}

// What the schema says of the value at a path; null where it says so in a way that is not followed here, such as anyOf.
const Schema* schema_at(const Schema& whole, std::string_view path) {
  const Schema* at = &whole;
  while (!path.empty() && at != nullptr) {
    if (path.front() == '.') path.remove_prefix(1);
    const auto end = std::min(path.find_first_of(".[", 1), path.size());
    const std::string step(path.substr(0, end));
    path.remove_prefix(end);
    if (step.front() == '[') {
      at = member(at, "items");
      continue;
    }
    const auto* named = member(member(at, "properties"), step.c_str());
    at = named != nullptr ? named : member(at, "additionalProperties");
  }
  return at;
}

std::string shown(const Schema& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float() && std::floor(value.get<double>()) == value.get<double>() && std::fabs(value.get<double>()) < 1e15)
    return std::to_string(static_cast<long long>(value.get<double>()));  // the validator knows no other numbers
  return value.dump();
}

std::string joined(const Schema& values, const char* last) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : i + 1 == values.size() ? last : ", ") + shown(values[i]);
  return text;
}

std::string type_words(const Schema& type) {
  if (type.is_array()) {
    std::string text;
    for (const auto& one : type) text += (text.empty() ? "" : " or ") + type_words(one);
    return text;
  }
  if (type == "string") return "a text";
  if (type == "integer") return "a whole number";
  if (type == "number") return "a number";
  if (type == "boolean") return "true or false";
  if (type == "array") return "a list";
  return type == "object" ? "a mapping of names to values" : shown(type);
}

// ": what it is for (such as an example)", as far as the schema says so.
std::string explanation(const Schema* schema) {
  std::string text;
  if (const auto* what = member(schema, "description"); what != nullptr && what->is_string()) text = ": " + shown(*what);
  const auto* examples = member(schema, "examples");
  const auto* example =
      examples != nullptr && examples->is_array() && !examples->empty() ? &examples->front() : member(schema, "default");
  if (example != nullptr && !example->is_structured())
    text += (text.empty() ? ": such as " : " (such as ") + shown(*example) + (text.empty() ? "" : ")");
  return text;
}

std::string range(const Schema* schema) {
  const auto bound = [&](const char* inclusive, const char* exclusive, const char* word) -> std::string {
    if (const auto* value = member(schema, inclusive)) return " " + std::string(word) + " " + shown(*value);
    const auto* value = member(schema, exclusive);
    return value == nullptr ? "" : std::string(*word == 'f' ? " more than " : " less than ") + shown(*value);
  };
  const auto* type = member(schema, "type");
  const auto least = bound("minimum", "exclusiveMinimum", "from"), most = bound("maximum", "exclusiveMaximum", "to");
  const auto kind = type == nullptr ? "a number" : type_words(*type);
  if (most.empty() && least.starts_with(" from")) return "must be " + kind + ", at least " + least.substr(6);
  if (least.empty() && most.starts_with(" to")) return "must be " + kind + ", at most " + most.substr(4);
  return "must be " + kind + least + most;
}

std::string length(const Schema* schema, const char* least_name, const char* most_name, const char* of) {
  const auto* least = member(schema, least_name);
  const auto* most = member(schema, most_name);
  if (least != nullptr && most == nullptr && shown(*least) == "1") return "must not be empty" + explanation(schema);
  std::string text = "must have ";
  if (least != nullptr) text += "at least " + shown(*least) + (most == nullptr ? "" : " and ");
  if (most != nullptr) text += "at most " + shown(*most);
  return text + " " + of + explanation(schema);
}

// The name that a description ends with, in single quotes.
std::string quoted_in(const std::string& description) {
  const auto list = description.find("constraints: ");
  const auto begin = description.find('\'', list == std::string::npos ? 0 : list), end = description.rfind('\'');
  return begin == std::string::npos || end <= begin ? "" : description.substr(begin + 1, end - begin - 1);
}

std::string no_such_field(const Schema* schema, const std::string& name) {
  std::vector<std::string> known;
  std::string list;
  if (const auto* properties = member(schema, "properties"); properties != nullptr && properties->is_object())
    for (const auto& [key, value] : properties->items()) {
      known.push_back(key);
      list += (list.empty() ? "" : ", ") + key;
    }
  return "unknown field" + did_you_mean(name, known) + (list.empty() ? "" : " (known here: " + list + ")");
}

}  // namespace

SchemaFinding in_plain_words(const SchemaFinding& finding, const nlohmann::json& schema) {
  const auto& said = finding.description;
  const auto begins = [&](std::string_view text) { return said.starts_with(text); };
  const auto* at = schema_at(schema, finding.path);
  if (begins("Object contains a property that could not be validated")) {
    const auto name = quoted_in(said);
    return {field_path(finding.path, name), no_such_field(at, name)};
  }
  if (begins("Missing required property")) {
    const auto name = quoted_in(said);
    return {field_path(finding.path, name), "is missing" + explanation(member(member(at, "properties"), name.c_str()))};
  }
  const auto message = [&]() -> std::string {
    if (const auto* type = member(at, "type"); type != nullptr && begins("Value type not permitted"))
      return "must be " + type_words(*type) + explanation(at);
    if (const auto* values = member(at, "enum"); values != nullptr && begins("Failed to match against any enum"))
      return "must be one of " + joined(*values, ", ");
    if (const auto* value = member(at, "const"); value != nullptr && begins("Failed to match expected value"))
      return "must be " + shown(*value);
    if (begins("Failed to match regex")) {
      const auto more = explanation(at);
      const auto* pattern = member(at, "pattern");
      return "does not have the form that it must have" + (more.empty() && pattern != nullptr ? ": " + shown(*pattern) : more);
    }
    if (begins("Expected number")) return range(at);
    if (begins("String should be no")) return length(at, "minLength", "maxLength", "characters");
    if (begins("Array should contain no")) return length(at, "minItems", "maxItems", "entries");
    if (begins("Object should have no")) return length(at, "minProperties", "maxProperties", "fields");
    if (begins("Elements at indexes")) return "must not hold the same entry twice";
    if (begins("Failed to validate against any schemas") || begins("Failed to validate against exactly one") ||
        begins("Failed to validate against any child"))
      return "has none of the forms that it may have" + explanation(at);
    return said;
  }();
  return {finding.path, message};
}

}  // namespace waybill
