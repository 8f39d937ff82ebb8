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

namespace {

std::optional<std::string> fill(std::string_view value, std::string_view opens, const SecretLookup& value_of) {
  std::string filled;
  for (;;) {
    const auto open = value.find(opens);
    filled += value.substr(0, open);
    if (open == std::string_view::npos) return filled;
    value.remove_prefix(open + opens.size());
    const auto close = value.find('}');
    if (close == std::string_view::npos) return std::nullopt;
    const auto secret = value_of(value.substr(0, close));
    if (!secret) return std::nullopt;
    filled += *secret;
    value.remove_prefix(close + 1);
  }
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~").find(c) != std::string_view::npos;
}

std::string in_form(const std::string& value, wb_secret_form form) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    const std::string hex{kDigits[byte >> 4], kDigits[byte & 15]};
    if (form == WB_SECRET_FORM && !is_unreserved(c))
      out += "%" + hex;
    else if (form == WB_SECRET_JSON && (c == '"' || c == '\\'))
      out += std::string("\\") + c;
    else if (form == WB_SECRET_JSON && byte < 0x20)
      out += "\\u00" + hex;
    else
      out += c;
  }
  return out;
}

}  // namespace

std::optional<std::string> fill_secrets(std::string_view value, const SecretLookup& value_of) {
  return fill(value, "{secret:", value_of);
}

std::optional<std::string> fill_tokens(std::string_view value, const SecretLookup& token_of) {
  return fill(value, "{oauth2:", token_of);
}

std::optional<std::string> fill_body(std::string_view body, const std::vector<testkit::BodySecret>& secrets,
                                     const SecretLookup& value_of) {
  std::string filled;
  std::size_t done = 0;
  for (const auto& [offset, name, form] : secrets) {
    const auto value = value_of(name);
    if (!value || offset < done || offset > body.size()) return std::nullopt;
    filled += body.substr(done, offset - done);
    filled += in_form(*value, form);
    done = offset;
  }
  return filled += body.substr(done);
}

}  // namespace waybill::fake_host
