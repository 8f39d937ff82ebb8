// A JSON Schema (draft 7) that was compiled once and checks texts. valijson is behind this.
#include "base/json_check.h"

#define VALIJSON_USE_EXCEPTIONS 1  // else a malformed schema would abort the process

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <type_traits>
#include <unordered_map>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "base/json_document.h"
#include "base/json_reader.h"
#include "base/schema_cost.h"
#include "base/schema_words.h"
#include "base/utf8.h"

namespace waybill {
namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

void append_step(std::string& path, std::string_view step) {
  const bool index = !step.empty() && std::all_of(step.begin(), step.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (index)
    path.append("[").append(step).append("]");
  else
    path.append(path.empty() ? "" : ".").append(step);
}

// valijson's context: "<root>", then steps written as ["name"] or [2].
std::string path_of(const std::vector<std::string>& context) {
  std::string path;
  for (std::string_view step : context) {
    if (step == "<root>") continue;
    if (step.starts_with("[") && step.ends_with("]")) step = step.substr(1, step.size() - 2);
    if (step.size() >= 2 && step.starts_with("\"") && step.ends_with("\"")) step = step.substr(1, step.size() - 2);
    append_step(path, step);
  }
  return clean_text(path, kMaxMessageBytes);
}

Problem problem(std::string field, std::string_view message) {
  return {"", 0, std::move(field), clean_text(message, kMaxMessageBytes)};
}

// valijson knows no other numbers than doubles and integers; 10.0 is an integer like 10.
nlohmann::json as_plain_numbers(nlohmann::json json) {
  constexpr double kMostExact = 9'007'199'254'740'992;  // 2^53
  if (json.is_structured())
    for (auto& part : json) part = as_plain_numbers(std::move(part));
  else if (number_text(json))
    json = *number_of(json);
  if (json.is_number_float())
    if (const double value = json.get<double>(); std::fabs(value) < kMostExact && std::trunc(value) == value)
      json = static_cast<std::int64_t>(value);
  return json;
}

// A regular expression whose cost does not explode with the text: without back references, and with all ways tried at once.
class Pattern {
 public:
  explicit Pattern(const std::string& text) : regex_(text, std::regex::ECMAScript | std::regex_constants::__polynomial) {}
  static bool search(const std::string& text, const Pattern& pattern) { return std::regex_search(text, pattern.regex_); }
  const std::regex& regex() const { return regex_; }

 private:
  std::regex regex_;
};
using Patterns = std::unordered_map<std::string, Pattern>;

// Every text that may be one. Throws std::regex_error, with the text in `last`.
void find_patterns(const nlohmann::json& schema, Patterns& into, std::string& last) {
  if (schema.is_object())
    if (const auto found = schema.find("pattern"); found != schema.end() && found->is_string()) {
      last = found->get<std::string>();
      into.emplace(last, Pattern(last));
    }
  if (schema.is_structured())
    for (const auto& part : schema) find_patterns(part, into, last);
}

// valijson up to 1.0.2 has a cache of std::regex, which is filled here before it makes its own; later ones take our class.
template <template <class...> class Visitor, class Target>
bool validates(const valijson::Subschema& schema, const Target& target, valijson::ValidationResults& results,
               const Patterns& patterns) {
  using Path = std::vector<std::string>;
  const Path root{"<root>"};
  if constexpr (requires { typename Visitor<Target>; }) {
    std::unordered_map<std::string, std::regex> cache;
    for (const auto& [text, pattern] : patterns) cache.emplace(text, pattern.regex());
    return Visitor<Target>(target, root, true, &results, cache).validateSchema(schema);
  } else {
    using Later = Visitor<Target, Pattern>;
    Patterns cache = patterns;
    if constexpr (std::is_constructible_v<Later, const Target&, Path, bool, bool, valijson::ValidationResults*, Patterns&>)
      return Later(target, root, true, true, &results, cache).validateSchema(schema);
    else
      return Later(target, root, true, &results, cache).validateSchema(schema);
  }
}

// "A part of it does not match" says nothing once the part itself was told.
bool is_echo(const std::string& description) {
  return description.starts_with("Failed to validate against schema") || description.starts_with("Failed to validate item") ||
         description.starts_with("Failed to validate against additional properties schema");
}

}  // namespace

struct JsonCheck::Compiled {
  bool nothing = false;
  bool anything = false;
  nlohmann::json source;  // for messages
  valijson::Schema schema;
  Patterns patterns;
};

JsonCheck::JsonCheck(std::unique_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
JsonCheck::JsonCheck(JsonCheck&&) noexcept = default;
JsonCheck& JsonCheck::operator=(JsonCheck&&) noexcept = default;
JsonCheck::~JsonCheck() = default;

JsonCheck JsonCheck::nothing() {
  auto compiled = std::make_unique<Compiled>();
  compiled->nothing = true;
  return JsonCheck(std::move(compiled));
}

Result<JsonCheck> JsonCheck::compile(std::string_view schema) {
  auto compiled = std::make_unique<Compiled>();
  if (schema.empty()) {
    compiled->anything = true;
    return JsonCheck(std::move(compiled));
  }
  try {
    const auto read = read_sorted_json(schema);
    if (!read) return fail(Error::Kind::invalid, read.error().what);
    compiled->source = as_plain_numbers(*read);
    const auto& json = compiled->source;
    if (!json.is_object()) return fail(Error::Kind::invalid, "the schema is not a JSON object");
    if (auto fault = fault_of_schema_cost(json); !fault.empty()) return fail(Error::Kind::invalid, std::move(fault));
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(Adapter(json), compiled->schema);
    std::string pattern;
    try {
      find_patterns(json, compiled->patterns, pattern);
    } catch (const std::regex_error&) {
      return fail(Error::Kind::invalid,
                  "the pattern " + in_quotes(pattern) + " is no regular expression of ECMAScript without back references");
    }
  } catch (const std::exception& error) {
    return fail(Error::Kind::invalid, clean_text(error.what(), kMaxMessageBytes));
  }
  return JsonCheck(std::move(compiled));
}

Problems JsonCheck::check(const std::string& text) const {
  try {
    const auto read = read_sorted_json(text);
    if (!read) return {problem("", read.error().what)};
    const auto json = as_plain_numbers(*read);
    if (!json.is_object()) return {problem("", "must be a JSON object")};
    if (compiled_->nothing && !json.empty())
      return {problem(json.begin().key(), "there is no such setting: this action type has none")};
    if (compiled_->nothing || compiled_->anything) return {};
    valijson::ValidationResults results;
    if (validates<valijson::ValidationVisitor>(compiled_->schema, Adapter(json), results, compiled_->patterns)) return {};
    Problems problems;
    for (const auto& error : results)
      if (!is_echo(error.description) && problems.size() < kMaxProblems) {
        auto words = in_plain_words({path_of(error.context), error.description}, compiled_->source);
        problems.push_back(problem(clean_text(words.path, kMaxMessageBytes), words.description));
      }
    if (problems.empty()) problems.push_back(problem("", "does not match the schema"));
    return problems;
  } catch (const std::exception& error) {
    return {problem("", error.what())};
  }
}

std::string dotted_path(std::string_view json_pointer) {
  std::string path;
  while (!json_pointer.empty() && json_pointer.front() == '/') {
    json_pointer.remove_prefix(1);
    const auto end = std::min(json_pointer.find('/'), json_pointer.size());
    std::string step;
    for (std::size_t i = 0; i < end; ++i) {
      const auto escape = json_pointer.substr(i, std::min<std::size_t>(2, end - i));
      if (escape == "~1" || escape == "~0") {
        step += escape == "~1" ? '/' : '~';
        ++i;
      } else {
        step += json_pointer[i];
      }
    }
    append_step(path, step);
    json_pointer.remove_prefix(end);
  }
  path.append(json_pointer);  // not a pointer: kept as it is
  return clean_text(path, kMaxMessageBytes);
}

}  // namespace waybill
