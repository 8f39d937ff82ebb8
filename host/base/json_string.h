// Text as a JSON string.
#pragma once

#include <string>
#include <string_view>

namespace waybill {

// With its quotes. Whatever is no UTF-8 in it is replaced.
std::string json_string(std::string_view text);

}  // namespace waybill
