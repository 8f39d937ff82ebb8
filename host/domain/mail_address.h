// What people enter as their mail address.
#pragma once

#include <string>
#include <string_view>

namespace waybill {

// What is wrong with one plain address, "name@domain", as every relay takes it; "": nothing. No name beside it, no list, no
// quotes, no blanks, no control characters: nothing that a header or an envelope could read as more than one address.
std::string fault_in_address(std::string_view text);

}  // namespace waybill
