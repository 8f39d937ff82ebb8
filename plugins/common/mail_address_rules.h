// What makes a mail address one that every relay takes.
#pragma once

#include <string>
#include <string_view>

#include "common/text.h"

namespace waybill::plugins {

namespace detail {

inline bool is_alnum(char c) { return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9'); }

// What is wrong with "a@b"; empty: nothing.
std::string fault_in_address(std::string_view address);

}  // namespace detail

}  // namespace waybill::plugins
