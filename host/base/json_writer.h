// JSON as Waybill writes it, with whatever is not UTF-8 replaced.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace waybill {

using Json = nlohmann::ordered_json;  // members in the order in which they are added

std::string dump(const Json& value, int indent = -1);  // of so many blanks, for people; -1: on one line
std::string dump_sorted(const nlohmann::json& value);  // members by name

// A text as a JSON string, with its quotes. Plain ASCII costs next to nothing.
std::string json_string(std::string_view text);
void append_json_string(std::string& json, std::string_view text);  // at the end of `json`

// The same JSON text, well-formed and in UTF-8, in printable ASCII: what else there is in its strings becomes \u escapes.
std::string ascii_json(std::string_view json);

}  // namespace waybill
