// Bytes as hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

namespace waybill {

std::string to_hex(std::string_view bytes);
std::string from_hex(std::string_view digits);  // two lower-case digits a byte, as to_hex writes them

}  // namespace waybill
