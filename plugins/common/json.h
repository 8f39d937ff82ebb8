// Reading JSON that a stranger wrote: never throws, never overflows the stack, says what is wrong. A source that looks into a
// value also includes <nlohmann/json.hpp>, which takes long to compile.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace waybill::plugins {

using Json = nlohmann::json;

// Writing and copying JSON recurse, so depth is bounded before parsing.
inline constexpr int kMaxJsonDepth = 64;

bool nests_too_deep(std::string_view bytes);

// Any JSON; discarded if it is none. A NUL is refused here: the parser would take it for the end of the text.
Json read_json(std::string_view bytes);

// A JSON object in valid UTF-8; otherwise none, and `problem` ends the sentence "the payload ...".
std::optional<Json> parse_object(std::string_view bytes, std::string& problem);
// The same for a source that does not include <nlohmann/json.hpp>: null if it is none.
std::shared_ptr<const Json> parse_shared_object(std::string_view bytes, std::string& problem);

// Null counts as absent: many serializers write it for a field that was not set.
const Json* field(const Json& object, const char* name);

}  // namespace waybill::plugins
