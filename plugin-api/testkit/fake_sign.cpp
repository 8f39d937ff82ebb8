// The sign service with real HMACs, and what the fake host needs to know of text.
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "world.h"

namespace waybill::testkit {
namespace {

constexpr std::string_view kWebhookSecret = "whsec_";

std::int32_t hmac_sha256(const wb_host* host, wb_str name, const wb_str* parts, std::size_t count,
                         void (*sink)(void*, const std::uint8_t*, std::size_t), void* user) {
  return world_of(host).hmac_sha256(view(name), parts, count, sink, user);
}

constexpr wb_sign_service kService = {&hmac_sha256};

std::string key_of(const std::string& secret) {
  if (secret.compare(0, kWebhookSecret.size(), kWebhookSecret) != 0) return secret;
  return decode_base64(std::string_view(secret).substr(kWebhookSecret.size())).value_or(secret);
}

}  // namespace

const wb_sign_service* sign_service() { return &kService; }

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  const auto padding = text.size() - text.find_last_not_of('=') - 1;
  if (padding > 2) return std::nullopt;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

std::string encode_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // and a terminator
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::int32_t World::hmac_sha256(std::string_view name, const wb_str* parts, std::size_t count,
                                void (*sink)(void*, const std::uint8_t*, std::size_t), void* user) const {
  const auto found = secrets.find(name);
  if (found == secrets.end()) return WB_SIGN_UNKNOWN_SECRET;
  std::string message;
  for (std::size_t i = 0; i < count; ++i) message += view(parts[i]);
  for (const auto& secret : found->second) {
    const auto key = key_of(secret);
    std::uint8_t mac[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(message.data()),
         message.size(), mac, &size);
    sink(user, mac, size);
  }
  return WB_SIGN_OK;
}

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

}  // namespace waybill::testkit
