// The key of a Google service account, which signs and cannot be read out or printed.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "services/private_key.h"

namespace waybill {

// Immutable; copies share the key. Safe from any thread.
class GcsKey {
 public:
  // From the JSON file that Google hands out: `client_email`, `private_key` (PEM, RSA of at least 2,048 bits) and, where it says
  // so, `universe_domain`; other fields are passed over. Errors name the field, never its value.
  static Result<GcsKey> from_service_account(std::string_view json);

  const std::string& email() const { return email_; }
  const std::string& universe_domain() const { return universe_domain_; }  // "googleapis.com" for nearly everybody

  // RSASSA-PKCS1-v1_5 with SHA-256: the signature's bytes.
  Result<std::string> sign(std::string_view text) const;

 private:
  GcsKey(std::string email, std::string universe_domain, PrivateKey key);

  std::string email_;
  std::string universe_domain_;
  PrivateKey key_;
};

}  // namespace waybill
