// What commands print. Texts that others wrote never reach a terminal as control sequences, whatever is stored.
#pragma once

#include <string>
#include <string_view>

namespace waybill {

// Line ends and tabs stay. Other C0 and DEL become \x1b, C1 and what is_invisible() \u009b or \U000e0041, and a byte that is no
// UTF-8 \xff.
std::string printable(std::string_view text);

[[gnu::format(printf, 1, 2)]] void print_text(const char* format, ...);   // on standard output, printable
[[gnu::format(printf, 1, 2)]] void print_error(const char* format, ...);  // on standard error, printable

}  // namespace waybill
