// Checks UTF-8 and fills in secrets.
#include "text.h"

namespace waybill::fake_host {

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    const auto lead = static_cast<unsigned char>(bytes[i++]);
    if (lead < 0x80) continue;
    const int more = lead >= 0xc2 && lead < 0xe0 ? 1 : lead >= 0xe0 && lead < 0xf0 ? 2 : lead >= 0xf0 && lead < 0xf5 ? 3 : 0;
    if (more == 0) return false;
    for (int k = 0; k < more; ++k, ++i) {
      if (i >= bytes.size()) return false;
      const auto next = static_cast<unsigned char>(bytes[i]);
      const unsigned char low = k != 0 ? 0x80 : lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
      const unsigned char high = k != 0 ? 0xbf : lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
      if (next < low || next > high) return false;
    }
  }
  return true;
}

std::optional<std::string> fill_secrets(std::string_view value, const SecretLookup& value_of) {
  constexpr std::string_view kOpen = "{secret:";
  std::string filled;
  for (;;) {
    const auto open = value.find(kOpen);
    filled += value.substr(0, open);
    if (open == std::string_view::npos) return filled;
    value.remove_prefix(open + kOpen.size());
    const auto close = value.find('}');
    if (close == std::string_view::npos) return std::nullopt;
    const auto secret = value_of(value.substr(0, close));
    if (!secret) return std::nullopt;
    filled += *secret;
    value.remove_prefix(close + 1);
  }
}

}  // namespace waybill::fake_host
