// Follows what applies to the same value: references, and allOf and its like. What goes into the value ends with the value.
#include "base/schema_cost.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <vector>

namespace waybill {
namespace {

using nlohmann::json;

constexpr const char* kSameValueLists[] = {"allOf", "anyOf", "oneOf"};
constexpr const char* kSameValue[] = {"not", "if", "then", "else"};
constexpr const char* kInside[] = {"additionalProperties", "additionalItems", "contains", "propertyNames", "items"};
constexpr const char* kInsideByName[] = {"properties", "patternProperties"};

std::string decoded(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '%' && i + 2 < text.size() && std::isxdigit(static_cast<unsigned char>(text[i + 1])) &&
                           std::isxdigit(static_cast<unsigned char>(text[i + 2]));
    plain += is_escape ? static_cast<char>(std::strtol(text.substr(i + 1, 2).c_str(), nullptr, 16)) : text[i];
    if (is_escape) i += 2;
  }
  return plain;
}

class Walk {
 public:
  explicit Walk(const json& root) : root_(root) {}

  std::string fault() {
    waiting_.push_back(&root_);
    while (!waiting_.empty() && fault_.empty()) {
      const auto* schema = waiting_.back();
      waiting_.pop_back();
      cost(*schema);
    }
    return fault_;
  }

 private:
  // Of this schema and all that applies to the same value. Once there is a fault it means nothing.
  std::size_t cost(const json& schema) {
    if (!schema.is_object() || !fault_.empty()) return 1;
    const auto [known, is_new] = costs_.try_emplace(&schema, std::nullopt);
    if (!is_new) {
      if (!known->second) fault_ = "the schema refers to itself without end";
      return known->second.value_or(1);
    }
    const auto sum = sum_of(schema);
    if (sum > kMaxSchemaCost && fault_.empty())
      fault_ = "the schema's references apply more than " + std::to_string(kMaxSchemaCost) + " parts of it to one value";
    costs_[&schema] = std::min(sum, kMaxSchemaCost + 1);
    return std::min(sum, kMaxSchemaCost + 1);
  }

  std::size_t sum_of(const json& schema) {
    if (const auto reference = schema.find("$ref"); reference != schema.end() && reference->is_string()) {
      const auto* target = find(reference->get<std::string>());
      return target == nullptr ? 1 : 1 + cost(*target);
    }
    std::size_t sum = 1;
    for (const char* name : kSameValueLists)
      if (const auto list = schema.find(name); list != schema.end() && list->is_array())
        for (const auto& part : *list) sum += cost(part);
    for (const char* name : kSameValue)
      if (const auto part = schema.find(name); part != schema.end()) sum += cost(*part);
    if (const auto all = schema.find("dependencies"); all != schema.end() && all->is_object())
      for (const auto& part : *all) sum += cost(part);
    leave_inside(schema);
    return sum;
  }

  void leave_inside(const json& schema) {
    const auto leave = [&](const json& part) {
      if (part.is_object() && !costs_.contains(&part)) waiting_.push_back(&part);
    };
    for (const char* name : kInside)
      if (const auto part = schema.find(name); part != schema.end()) {
        leave(*part);
        if (part->is_array())
          for (const auto& one : *part) leave(one);
      }
    for (const char* name : kInsideByName)
      if (const auto all = schema.find(name); all != schema.end() && all->is_object())
        for (const auto& part : *all) leave(part);
  }

  // Null if it leads elsewhere, or nowhere: the compiler of schemas has its own words for that.
  const json* find(const std::string& reference) const {
    if (!reference.starts_with('#')) return nullptr;
    try {
      return &root_.at(json::json_pointer(decoded(reference.substr(1))));
    } catch (const json::exception&) {
      return nullptr;
    }
  }

  const json& root_;
  std::unordered_map<const json*, std::optional<std::size_t>> costs_;  // none: being reckoned
  std::vector<const json*> waiting_;                                   // apply to parts of the value
  std::string fault_;
};

}  // namespace

std::string fault_of_schema_cost(const json& schema) { return Walk(schema).fault(); }

}  // namespace waybill
