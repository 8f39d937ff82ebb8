// Two digits a byte, lower case.
#include "base/hex.h"

namespace waybill {

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string from_hex(std::string_view digits) {
  const auto value = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) bytes += static_cast<char>(value(digits[i]) << 4 | value(digits[i + 1]));
  return bytes;
}

}  // namespace waybill
