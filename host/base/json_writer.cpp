// Most texts are plain ASCII and need no more than their quotes. The library writes the rest.
#include "base/json_writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace waybill {

std::string dump(const Json& value, int indent) { return value.dump(indent, ' ', false, Json::error_handler_t::replace); }
std::string dump_sorted(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_string(std::string_view text) {
  std::string json;
  append_json_string(json, text);
  return json;
}

void append_json_string(std::string& json, std::string_view text) {
  const bool is_plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (is_plain)
    json.append(1, '"').append(text).append(1, '"');
  else
    json += dump(Json(text));
}

}  // namespace waybill
