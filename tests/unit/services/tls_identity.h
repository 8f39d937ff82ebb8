// A certificate for 127.0.0.1 that is its own authority, with its key: made afresh, as a listener and as what a client may trust.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "unit/services/test_authority.h"

namespace waybill::testing {

class TlsIdentity {
 public:
  explicit TlsIdentity(const std::string& names = "IP:127.0.0.1")
      : TlsIdentity(CertificateWish{.common_name = "relay", .names = names}) {}
  explicit TlsIdentity(const CertificateWish& wish)
      : made_(TestAuthority::self_signed(wish)), context_(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free) {
    if (SSL_CTX_use_certificate(context_.get(), made_.certificate.get()) != 1 ||
        SSL_CTX_use_PrivateKey(context_.get(), made_.key.get()) != 1)
      throw std::runtime_error("no certificate");
  }
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  std::string pem() const { return made_.pem(); }
  SSL_CTX* context() const { return context_.get(); }
  // Of a client that believes this certificate.
  std::shared_ptr<const Transport> trust() const {
    Transport transport;
    transport.authorities = authorities_in(pem());
    transport.identity = pem();
    return std::make_shared<const Transport>(std::move(transport));
  }

 private:
  TestCertificate made_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
};

}  // namespace waybill::testing
