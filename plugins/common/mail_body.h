// Text as the body of a mail: CRLF line ends, 7 bits, short lines (RFC 2045).
#pragma once

#include <string>
#include <string_view>

namespace waybill::plugins {

std::string base64_lines(std::string_view bytes);

// A body part with its header, in whichever encoding is shorter.
std::string text_part(std::string_view type, std::string_view content);

}  // namespace waybill::plugins
