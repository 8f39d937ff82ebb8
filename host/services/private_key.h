// A private key that signs and cannot be read out or printed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace waybill {

enum class SignatureKind : std::uint8_t {
  rsa_sha256,         // RSASSA-PKCS1-v1_5 with SHA-256: RS256 of a JWT
  ecdsa_p256_sha256,  // on the curve P-256, r and s in 32 bytes each: ES256 of a JWT
};

// Immutable; copies share the key. Safe from any thread.
class PrivateKey {
 public:
  // PEM (PKCS #8, PKCS #1, SEC 1) without a passphrase: RSA of at least 2,048 bits, or a curve's. Errors never repeat the key.
  static Result<PrivateKey> from_pem(std::string_view pem);

  bool is_rsa() const;
  // Of the concatenated parts. Error::invalid: the key is of another kind.
  Result<std::string> sign(SignatureKind kind, std::span<const std::string_view> parts) const;

 private:
  explicit PrivateKey(std::shared_ptr<void> key) : key_(std::move(key)) {}
  std::shared_ptr<void> key_;  // an EVP_PKEY; OpenSSL stays in private_key.cpp
};

}  // namespace waybill
