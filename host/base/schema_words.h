// What a value breaks of a JSON Schema, in words for the person who wrote the value.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace waybill {

// A finding of the validator: at which path, and its description.
struct SchemaFinding {
  std::string path;  // "headers.X-A", "recipients[2]", "" for the whole
  std::string description;
};
// The same with a message that says what is allowed there, and with the path of the field that is missing or too much.
SchemaFinding in_plain_words(const SchemaFinding& finding, const nlohmann::json& schema);

}  // namespace waybill
