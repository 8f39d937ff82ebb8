// What plugins say, made safe to keep: bounded, valid UTF-8, without control characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

struct wb_str;

namespace waybill {

// A null pointer is the empty text, whatever length comes with it.
std::string_view view_of(const wb_str& text);
wb_str borrow(std::string_view text);

// At most `most` bytes of `text`, cut between characters; broken UTF-8 becomes U+FFFD, control characters become spaces.
std::string clean_text(std::string_view text, std::size_t most);

}  // namespace waybill
