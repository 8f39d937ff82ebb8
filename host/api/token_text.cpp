// Making tokens, and reading them.
#include "api/token_text.h"

#include "base/hex.h"
#include "base/random.h"

namespace waybill {
namespace {

constexpr std::string_view kPrefix = "wbt_";
constexpr std::size_t kIdBytes = 6;
constexpr std::size_t kIdSize = 2 * kIdBytes;
constexpr std::size_t kSecretSize = 43;

std::string make_secret() {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const std::string bytes = random_bytes(32) + '\0';
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  std::string secret;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const unsigned group = static_cast<unsigned>(byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2));
    for (const int shift : {18, 12, 6, 0}) secret += kAlphabet[group >> shift & 63];
  }
  secret.resize(kSecretSize);  // 32 bytes fill 43 characters
  return secret;
}

}  // namespace

TokenText make_token() {
  const std::string id = to_hex(random_bytes(kIdBytes));
  return {std::string(kPrefix) + id + "_" + make_secret(), id};
}

std::string_view public_id_of(std::string_view token) {
  if (token.size() != kPrefix.size() + kIdSize + 1 + kSecretSize || !token.starts_with(kPrefix)) return {};
  const auto id = token.substr(kPrefix.size(), kIdSize);
  return token[kPrefix.size() + kIdSize] == '_' && id.find_first_not_of("0123456789abcdef") == std::string_view::npos
             ? id
             : std::string_view{};
}

}  // namespace waybill
