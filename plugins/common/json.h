// Reading JSON that a stranger wrote: never throws, never overflows the stack, says what is wrong.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace waybill::plugins {

using Json = nlohmann::json;

// Writing and copying JSON recurse, so depth is bounded before parsing.
inline constexpr int kMaxJsonDepth = 64;

inline bool nests_too_deep(std::string_view bytes) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxJsonDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

// Any JSON; discarded if it is none. A NUL is refused here: the parser would take it for the end of the text.
inline Json read_json(std::string_view bytes) {
  if (bytes.find('\0') != std::string_view::npos) return Json(Json::value_t::discarded);
  return Json::parse(bytes.begin(), bytes.end(), nullptr, false);
}

// A JSON object in valid UTF-8; otherwise none, and `problem` ends the sentence "the payload ...".
inline std::optional<Json> parse_object(std::string_view bytes, std::string& problem) {
  if (nests_too_deep(bytes)) {
    problem = "nests deeper than " + std::to_string(kMaxJsonDepth) + " levels";
    return std::nullopt;
  }
  auto json = read_json(bytes);
  if (json.is_discarded()) {
    problem = bytes.empty() ? "is empty" : "is not JSON";
    return std::nullopt;
  }
  if (!json.is_object()) {
    problem = "is not a JSON object";
    return std::nullopt;
  }
  return json;
}

// Null counts as absent: many serializers write it for a field that was not set.
inline const Json* field(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace waybill::plugins
