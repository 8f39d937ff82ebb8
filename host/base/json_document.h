// A JSON text with full-line # comments as a plain tree in which every value knows its line. nlohmann stays in json_document.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/problem.h"

namespace waybill {

struct JsonNode {
  enum class Kind { null, boolean, integer, number, text, array, object };
  Kind kind = Kind::null;
  int line = 0;     // of the key, for a member of an object
  std::string key;  // set for a member of an object
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string> scalar;  // integers >= 0 are unsigned
  std::string written;             // a number that would be written in another way: as it stands in the text
  std::vector<JsonNode> children;  // of an array or object

  const JsonNode* find(std::string_view name) const;  // a member of an object, or null
  const std::string* text() const { return std::get_if<std::string>(&scalar); }
};

inline constexpr std::size_t kMaxJsonDepth = 64;
inline constexpr std::size_t kMaxJsonBytes = 64 << 20;  // a registry of 100,000 targets has half of that

// Refuses what is no JSON, a key that stands twice in its object, a byte order mark, more than kMaxJsonDepth levels and more than
// kMaxJsonBytes bytes. Problems name `file`.
tl::expected<JsonNode, Problems> parse_json(std::string_view text, const std::string& file);

// The text with each line whose first sign is # made of blanks, so that lines and columns keep their numbers.
std::string without_comments(std::string_view text);

// Compact JSON with sorted keys.
std::string to_json(const JsonNode& value);
// A text as it stands in a message: quoted, control characters escaped, cut when very long.
std::string in_quotes(std::string_view text);
// "targets[2]" and "policy" give targets[2].policy; a name that is no plain word gives targets[2]["a name"].
std::string field_path(const std::string& parent, std::string_view name);
std::string field_path(const std::string& parent, std::size_t index);  // of an element
// The path of what is called `path` within `parent`; each may be empty.
std::string field_below(const std::string& parent, std::string_view path);

}  // namespace waybill
