// Quoting is the library's.
#include "core/json_string.h"

#include <nlohmann/json.hpp>

namespace waybill {

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace waybill
