// Checks fields in two passes: std::regex recurses for each byte of a text, so a text is known to be short before it is matched.
#include "domain/fields_schema.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/json_check.h"
#include "base/json_document.h"
#include "base/json_reader.h"

namespace waybill {
namespace {

using SortedJson = nlohmann::json;

constexpr std::size_t kMaxNamed = 3;
constexpr std::size_t kMaxMatchedBytes = 4 * kMaxMatchedLength;  // what a regular expression of this library surely survives
constexpr std::array kMatching{"pattern", "format"};
constexpr std::array kAlternatives{"anyOf", "oneOf", "not", "if", "contains", "dependencies"};

bool has_text(const SortedJson& schema, const char* keyword) {
  const auto found = schema.find(keyword);
  return found != schema.end() && found->is_string();
}

// What a schema has somewhere within it.
struct Keywords {
  bool matches = false, chooses = false, unique = false;
  std::string bad_pattern;  // the first that is no regular expression

  void find_in(const SortedJson& schema) {
    if (schema.is_object()) {
      for (const char* keyword : kMatching) matches |= has_text(schema, keyword);
      for (const char* keyword : kAlternatives) chooses |= schema.contains(keyword);
      unique |= schema.contains("uniqueItems");
      if (has_text(schema, "pattern")) try_pattern(schema["pattern"].get_ref<const std::string&>());
      if (const auto named = schema.find("patternProperties"); named != schema.end() && named->is_object()) {
        matches = true;
        for (const auto& [pattern, unused] : named->items()) try_pattern(pattern);
      }
    }
    if (schema.is_structured())
      for (const auto& part : schema) find_in(part);
  }
  void try_pattern(const std::string& pattern) {
    try {
      const std::regex tried(pattern);
    } catch (const std::regex_error&) {
      if (bad_pattern.empty()) bad_pattern = pattern;
    }
  }
};

// The schema without what matches texts; a text that it would match has a greatest length instead.
SortedJson bounded(SortedJson schema) {
  if (schema.is_object()) {
    bool matched = false;
    for (const char* keyword : kMatching)
      if (has_text(schema, keyword)) matched |= schema.erase(keyword) > 0;
    const auto most = schema.find("maxLength");
    const bool is_short = most != schema.end() && most->is_number_unsigned() && *most <= kMaxMatchedLength;
    if (matched && !is_short) schema["maxLength"] = kMaxMatchedLength;
  }
  if (schema.is_structured())
    for (auto& part : schema) part = bounded(std::move(part));
  return schema;
}

// What there is in the fields that would cost too much.
struct Size {
  std::size_t values = 0, longest_text = 0, longest_name = 0, longest_list = 0;

  void measure(const SortedJson& value) {
    if (++values > kMaxCheckedValues) return;
    if (value.is_string()) longest_text = std::max(longest_text, value.get_ref<const std::string&>().size());
    if (value.is_array()) longest_list = std::max(longest_list, value.size());
    if (value.is_object())
      for (const auto& [name, unused] : value.items()) longest_name = std::max(longest_name, name.size());
    if (value.is_structured())
      for (const auto& part : value) measure(part);
  }
};

// A schema says "Missing required property 'email'." about the object around it; people look for the field.
std::string sentence_of(const Problem& problem) {
  constexpr std::string_view kMissing = "Missing required property '";
  std::string path = "fields", words = problem.message;
  if (!problem.field.empty()) path += (problem.field.front() == '[' ? "" : ".") + problem.field;
  if (words.starts_with(kMissing)) {
    path += "." + words.substr(kMissing.size(), words.rfind('\'') - kMissing.size());
    words = "is missing";
  }
  while (words.ends_with('.')) words.pop_back();
  return path + ": " + words;
}

std::string sentence_of(const Problems& problems) {
  std::string all;
  for (std::size_t i = 0; i < std::min(problems.size(), kMaxNamed); ++i)
    all += (all.empty() ? "" : "; ") + sentence_of(problems[i]);
  return all;
}

}  // namespace

Result<FieldsSchema> FieldsSchema::compile(std::string_view json) {
  auto read = read_sorted_json(json);
  if (!read) return fail(Error::Kind::invalid, read.error().what);
  FieldsSchema schema;
  schema.text_ = dump_sorted(*read);
  auto whole = JsonCheck::compile(schema.text_);
  TRY(whole);
  schema.whole_ = std::make_shared<const JsonCheck>(std::move(*whole));
  Keywords keywords;
  keywords.find_in(*read);
  if (!keywords.bad_pattern.empty())
    return fail(Error::Kind::invalid, "the pattern " + in_quotes(keywords.bad_pattern) + " is no regular expression");
  schema.chooses_ = keywords.chooses;
  schema.wants_unique_ = keywords.unique;
  if (!keywords.matches) return schema;
  auto bounds = JsonCheck::compile(dump_sorted(bounded(std::move(*read))));
  TRY(bounds);
  schema.bounds_ = std::make_shared<const JsonCheck>(std::move(*bounds));
  return schema;
}

std::string FieldsSchema::fault_in(std::string_view fields) const {
  if (!whole_) return {};
  const auto read = read_sorted_json(fields, {.levels = kMaxFieldLevels});
  if (!read) return "fields: " + read.error().what;
  Size size;
  size.measure(*read);
  if (size.values > kMaxCheckedValues) return "fields: more than " + std::to_string(kMaxCheckedValues) + " values";
  if (wants_unique_ && size.longest_list > kMaxUniqueItems)
    return "fields: a list has more than " + std::to_string(kMaxUniqueItems) + " items";
  const std::string text(fields);
  if (bounds_) {
    const std::string limit = std::to_string(kMaxMatchedBytes) + " bytes";
    if (size.longest_name > kMaxMatchedBytes) return "fields: a name is longer than " + limit;
    if (chooses_ && size.longest_text > kMaxMatchedBytes) return "fields: a text is longer than " + limit;
    if (size.longest_text > kMaxMatchedLength)
      if (const auto problems = bounds_->check(text); !problems.empty()) return sentence_of(problems);
  }
  return sentence_of(whole_->check(text));
}

}  // namespace waybill
