// Plain words, which most texts are, need no more than their quotes. What to do with the rest is the library's business.
#include "base/json_string.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace waybill {

std::string json_string(std::string_view text) {
  const bool is_plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (is_plain) return '"' + std::string(text) + '"';
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace waybill
