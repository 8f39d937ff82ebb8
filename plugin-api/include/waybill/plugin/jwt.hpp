// JSON Web Tokens (RFC 7519) that the host signs: HS256 with a shared secret, RS256 and ES256 with a private key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "waybill/plugin/services.hpp"

namespace waybill::plugin {

// RFC 4648, 5, without padding.
inline std::string base64url(std::string_view bytes) {
  static constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto take = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) group = group << 8 | (i < take ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (std::size_t i = 0; i <= take; ++i) out += kLetters[group >> (18 - 6 * i) & 63];
  }
  return out;
}

enum class JwtAlgorithm { hs256, rs256, es256 };

// The token of these claims, a JSON object, signed with the secret of this name; none if the host has no such secret, or none of
// that kind. `key_id` is the header's "kid"; empty: none. RS256 and ES256 need a host of minor 4.
inline std::optional<std::string> jwt(const Signer& sign, JwtAlgorithm algorithm, std::string_view secret,
                                      std::string_view claims, std::string_view key_id = {}) {
  static constexpr const char* kNames[] = {"HS256", "RS256", "ES256"};
  std::string header = std::string(R"({"typ":"JWT","alg":")") + kNames[static_cast<int>(algorithm)] + '"';
  for (const char c : key_id)
    if (c < ' ' || c > '~' || c == '"' || c == '\\') throw std::invalid_argument("a JWT's key id is plain text");
  if (!key_id.empty()) header.append(R"(,"kid":")").append(key_id) += '"';
  const auto text = base64url(header + '}') + '.' + base64url(claims);
  if (algorithm == JwtAlgorithm::hs256) {
    const auto macs = sign.hmac_sha256(secret, {text});
    if (!macs || macs->empty()) return std::nullopt;
    return text + '.' + base64url({reinterpret_cast<const char*>(macs->front().data()), macs->front().size()});
  }
  const auto made =
      sign.signature(algorithm == JwtAlgorithm::rs256 ? Algorithm::rsa_sha256 : Algorithm::ecdsa_p256_sha256, secret, {text});
  if (!made) return std::nullopt;
  return text + '.' + base64url(*made);
}

}  // namespace waybill::plugin
