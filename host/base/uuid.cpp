// RFC 9562.
#include "base/uuid.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/hex.h"
#include "base/random.h"

namespace waybill {
namespace {
constexpr std::array<std::size_t, 4> kDashes{8, 13, 18, 23};
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_dash = std::find(kDashes.begin(), kDashes.end(), i) != kDashes.end();
    if (is_dash ? text[i] != '-' : std::isxdigit(static_cast<unsigned char>(text[i])) == 0) return false;
  }
  return true;
}

std::string random_uuid() {
  std::string bytes = random_bytes(16);
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  std::string text = to_hex(bytes);
  for (const std::size_t dash : kDashes) text.insert(dash, 1, '-');
  return text;
}

}  // namespace waybill
