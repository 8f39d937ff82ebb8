// The sign service, with real HMACs, and Base64.
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base64.h"
#include "world.h"

namespace waybill::testkit {
namespace {

constexpr std::string_view kWebhookSecret = "whsec_";

std::string key_of(const std::string& secret) {
  if (secret.compare(0, kWebhookSecret.size(), kWebhookSecret) != 0) return secret;
  return decode_base64(std::string_view(secret).substr(kWebhookSecret.size())).value_or(secret);
}

}  // namespace

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

std::int32_t World::sign(wb_str secret_name, const wb_str* parts, std::size_t count, fake_host::MacSink sink, void* user) {
  const auto found = secrets.find(view(secret_name));
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

}  // namespace waybill::testkit
