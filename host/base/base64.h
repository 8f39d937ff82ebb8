// Base64 (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace waybill {

std::string encode_base64(std::string_view bytes);     // with padding
std::string encode_base64url(std::string_view bytes);  // with - and _, without padding
// With padding; none if the text is anything else, or empty.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace waybill
