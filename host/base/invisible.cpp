// Which characters those are.
#include "base/invisible.h"

namespace waybill {

bool is_invisible(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(character[i])); };
  if (character.size() == 2) return byte(0) == 0xD8 && byte(1) == 0x9C;  // U+061C
  if (character.size() != 3) return false;
  const unsigned code = (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  return code == 0x200B || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF;
}

}  // namespace waybill
