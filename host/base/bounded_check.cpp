// Checks in two passes: matching a text takes up to the square of its length, so a text is known to be short before it is
// matched.
#include "base/bounded_check.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"

namespace waybill {
namespace {

using SortedJson = nlohmann::json;

constexpr std::size_t kMaxMatchedBytes = 4 * kMaxMatchedLength;  // of UTF-8
constexpr std::array kMatching{"pattern", "format"};
constexpr std::array kAlternatives{"anyOf", "oneOf", "not", "if", "contains", "dependencies"};

bool has_text(const SortedJson& schema, const char* keyword) {
  const auto found = schema.find(keyword);
  return found != schema.end() && found->is_string();
}

// What a schema has somewhere within it.
struct Keywords {
  bool matches = false, chooses = false, unique = false;
  bool by_name = false;  // what a property must be follows from a pattern of its name

  void find_in(const SortedJson& schema) {
    if (schema.is_object()) {
      for (const char* keyword : kMatching) matches |= has_text(schema, keyword);
      for (const char* keyword : kAlternatives) chooses |= schema.contains(keyword);
      unique |= schema.contains("uniqueItems");
      by_name |= schema.contains("patternProperties");
    }
    if (schema.is_structured())
      for (const auto& part : schema) find_in(part);
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

Problems too_much(std::string what) { return {{"", 0, "", std::move(what)}}; }

}  // namespace

Result<BoundedCheck> BoundedCheck::compile(std::string_view schema) {
  auto read = read_sorted_json(schema);
  if (!read) return fail(Error::Kind::invalid, read.error().what);
  auto whole = JsonCheck::compile(schema);
  TRY(whole);
  Keywords keywords;
  keywords.find_in(*read);
  if (keywords.by_name)
    return fail(Error::Kind::invalid, "patternProperties is not known here: name the fields in properties, or use propertyNames");
  BoundedCheck check(std::move(*whole));
  check.chooses_ = keywords.chooses;
  check.wants_unique_ = keywords.unique;
  if (!keywords.matches) return check;
  auto bounds = JsonCheck::compile(dump_sorted(bounded(std::move(*read))));
  TRY(bounds);
  check.bounds_ = std::move(*bounds);
  return check;
}

Problems BoundedCheck::check(const std::string& json) const {
  const auto read = read_sorted_json(json, {.levels = kMaxCheckedLevels});
  if (!read) return too_much(read.error().what);
  Size size;
  size.measure(*read);
  if (size.values > kMaxCheckedValues) return too_much("more than " + std::to_string(kMaxCheckedValues) + " values");
  if (wants_unique_ && size.longest_list > kMaxUniqueItems)
    return too_much("a list has more than " + std::to_string(kMaxUniqueItems) + " items");
  if (bounds_) {
    const std::string limit = std::to_string(kMaxMatchedBytes) + " bytes";
    if (size.longest_name > kMaxMatchedBytes) return too_much("a name is longer than " + limit);
    if (chooses_ && size.longest_text > kMaxMatchedBytes) return too_much("a text is longer than " + limit);
    if (size.longest_text > kMaxMatchedLength)
      if (auto problems = bounds_->check(json); !problems.empty()) return problems;
  }
  return whole_.check(json);
}

}  // namespace waybill
