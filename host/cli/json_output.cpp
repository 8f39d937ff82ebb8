// How commands print.
#include "cli/json_output.h"

#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/printing.h"

namespace waybill {

void print_line(const std::string& text) { print_text("%s\n", text.c_str()); }
Json our_json(const std::string& text) {
  return read_json(text, {.doubled_names = JsonReading::DoubledNames::kept}).value_or(nullptr);
}
void print_json(const Json& json) { print_line(dump(json, 2)); }

}  // namespace waybill
