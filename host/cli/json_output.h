// How commands print: lines for people, JSON for programs.
#pragma once

#include <string>

#include "base/json_writer.h"

namespace waybill {

void print_line(const std::string& text);
void print_json(const Json& json);
Json our_json(const std::string& text);  // of an answer or a record that this program wrote

}  // namespace waybill
