// Base64 with padding (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace waybill::testkit {

std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

}  // namespace waybill::testkit
