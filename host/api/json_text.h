// Walking over JSON text that is good, or will be found out later.
#pragma once

#include <cstddef>
#include <string_view>

namespace waybill {

std::size_t skip_space(std::string_view text, std::size_t at);     // from `at` past blanks
std::size_t end_of_string(std::string_view text, std::size_t at);  // past the string whose opening quote is at `at`
std::size_t end_of_value(std::string_view text, std::size_t at);   // past the value that begins at `at`

}  // namespace waybill
