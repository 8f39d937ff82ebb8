// UUIDs in text: 8-4-4-4-12 hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

namespace waybill {

bool is_uuid(std::string_view text);
std::string random_uuid();  // version 4

}  // namespace waybill
