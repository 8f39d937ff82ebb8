// Numbers as they were written: 100.00 is no 100.0 to the person who reads it in a mail.
#pragma once

#include <string>
#include <string_view>

namespace waybill::plugins {

// The same JSON with each number that would be changed (1.10, 2^64, 1E5) as a text of what stands there.
std::string with_exact_numbers(std::string_view json);

}  // namespace waybill::plugins
