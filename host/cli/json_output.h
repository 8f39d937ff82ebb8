// How commands print: lines for people, JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace waybill {

using Json = nlohmann::ordered_json;

void print_line(const std::string& text);
void print_json(const Json& json);

}  // namespace waybill
