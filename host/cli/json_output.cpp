// How commands print.
#include "cli/json_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace waybill {

void print_line(const std::string& text) { std::printf("%s\n", text.c_str()); }
void print_json(const Json& json) { print_line(dump(json, 2)); }

}  // namespace waybill
