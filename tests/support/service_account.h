// A service account with a key made for this run, and the other half of the key to check signatures with.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "domain/idempotency.h"

namespace waybill::testing {

using Pkey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

// With a cipher the PEM needs a passphrase to be read.
inline std::string private_pem(EVP_PKEY* key, const EVP_CIPHER* cipher = nullptr) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  unsigned char passphrase[] = "secret";
  PEM_write_bio_PrivateKey(out.get(), key, cipher, cipher == nullptr ? nullptr : passphrase, cipher == nullptr ? 0 : 6, nullptr,
                           nullptr);
  char* data = nullptr;
  const auto size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

class ServiceAccount {
 public:
  EVP_PKEY* key() const { return key_.get(); }

  std::string json(const std::string& email = "robot@project.iam.gserviceaccount.com") const {
    return nlohmann::json{{"type", "service_account"}, {"client_email", email}, {"private_key", private_pem(key())}}.dump();
  }

  bool verifies(const std::string& text, const std::string& hex_signature) const {
    const auto signature = from_hex(hex_signature);
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key()) == 1 &&
           EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                            reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  }

 private:
  Pkey key_{EVP_RSA_gen(2048), EVP_PKEY_free};
};

inline const ServiceAccount& service_account() {  // making one takes a while
  static const ServiceAccount account;
  return account;
}

}  // namespace waybill::testing
