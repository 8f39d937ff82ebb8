// How commands print.
#include "cli/json_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace waybill {

void print_line(const std::string& text) { std::printf("%s\n", text.c_str()); }
void print_json(const Json& json) { print_line(json.dump(2, ' ', false, Json::error_handler_t::replace)); }

}  // namespace waybill
