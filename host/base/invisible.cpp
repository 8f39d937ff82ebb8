// Which characters those are.
#include "base/invisible.h"

namespace waybill {

bool is_invisible(std::string_view character) {
  const auto rest = [&](unsigned code) {
    for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
    return code;
  };
  const unsigned lead = character.empty() ? 0 : static_cast<unsigned char>(character.front());
  switch (character.size()) {
    case 2: {
      const unsigned code = rest(lead & 0x1F);
      return code == 0xAD || code == 0x61C;
    }
    case 3: {
      const unsigned code = rest(lead & 0x0F);
      return code == 0x180E || code == 0x200B || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
             (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF;
    }
    case 4: {
      const unsigned code = rest(lead & 0x07);
      return code >= 0xE0000 && code <= 0xE007F;
    }
    default:
      return false;
  }
}

}  // namespace waybill
