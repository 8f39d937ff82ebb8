// Base64, by OpenSSL.
#include "base/base64.h"

#include <openssl/evp.h>

namespace waybill {

std::string encode_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // and a terminator
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::string encode_base64url(std::string_view bytes) {
  auto text = encode_base64(bytes);
  while (text.ends_with('=')) text.pop_back();
  for (auto& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  const auto padding = text.ends_with("==") ? 2u : text.ends_with('=') ? 1u : 0u;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

}  // namespace waybill
