// Conditions of a pipeline: comparisons of values from the facts, and what all, any or none of several say.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "domain/facts.h"

namespace waybill {

struct Guard {
  enum class Kind : std::uint8_t { all, any, none, equals, less, at_most, more, at_least, in, exists, matches };
  Kind kind = Kind::all;            // of nothing: always true
  std::vector<Guard> children{};    // all, any, none
  Term term{};                      // the others
  JsonValue value{};                // equals; less, at_most, more, at_least: a number
  std::vector<std::string> list{};  // in
  std::string list_name{};          // of `list`, if it has one

  bool is_always() const { return kind == Kind::all && children.empty(); }
};

// A comparison of a value of another type is false, whichever it is.
bool holds(const Guard& guard, const std::function<JsonValue(const Term&)>& value_of);
inline bool holds(const Guard& guard, const Facts& facts) {
  return holds(guard, [&](const Term& term) { return facts.value(term); });
}

// For people: `/result/score >= 80`.
std::string to_text(const Guard& guard);
std::string to_text(const JsonValue& value);
std::string to_text(const Term& term);

}  // namespace waybill
