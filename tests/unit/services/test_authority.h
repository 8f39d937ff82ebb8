// An authority of a test's own: certificates and keys as a test wants them, made afresh, in memory.
#pragma once

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "services/transport.h"

namespace waybill::testing {

inline std::string pem_of(X509* certificate) {
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), &BIO_free);
  PEM_write_bio_X509(bio.get(), certificate);
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

struct TestCertificate {
  std::shared_ptr<X509> certificate;
  std::shared_ptr<EVP_PKEY> key;

  std::string pem() const { return pem_of(certificate.get()); }
  std::string key_pem(const char* password = nullptr) const {
    const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), &BIO_free);
    PEM_write_bio_PrivateKey(bio.get(), key.get(), password ? EVP_aes_128_cbc() : nullptr, nullptr, 0, nullptr,
                             const_cast<char*>(password));
    char* data = nullptr;
    const auto size = BIO_get_mem_data(bio.get(), &data);
    return {data, static_cast<std::size_t>(size)};
  }
};

struct CertificateWish {
  std::string common_name = "server";
  std::string names = "IP:127.0.0.1,DNS:localhost";  // empty: no subject alternative names
  long valid_from = -3600;                           // seconds from now
  long valid_until = 3600;
  bool is_authority = false;
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "test authority", long valid_until = 7200)
      : own_(make({.common_name = name, .names = "", .valid_until = valid_until, .is_authority = true}, nullptr)) {}

  TestCertificate issue(const CertificateWish& wish) const { return make(wish, &own_); }
  TestAuthority issue_authority(const std::string& name) const {
    return TestAuthority(make({.common_name = name, .names = "", .is_authority = true}, &own_));
  }
  static TestCertificate self_signed(const CertificateWish& wish) { return make(wish, nullptr); }
  std::string pem() const { return own_.pem(); }
  X509* certificate() const { return own_.certificate.get(); }

  // What a client has that trusts this authority.
  Transport trust() const {
    Transport transport;
    transport.authorities = authorities_in(pem());
    transport.identity = "trusts " + std::to_string(reinterpret_cast<std::uintptr_t>(this));
    return transport;
  }

 private:
  explicit TestAuthority(TestCertificate own) : own_(std::move(own)) {}
  static TestCertificate make(const CertificateWish& wish, const TestCertificate* issuer) {
    static long serial = 1;
    TestCertificate out{{X509_new(), &X509_free}, {EVP_EC_gen("P-256"), &EVP_PKEY_free}};
    auto* const made = out.certificate.get();
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(made), wish.valid_from);
    X509_gmtime_adj(X509_getm_notAfter(made), wish.valid_until);
    X509_set_pubkey(made, out.key.get());
    const auto* const text = reinterpret_cast<const unsigned char*>(wish.common_name.c_str());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC, text, -1, -1, 0);
    X509_set_issuer_name(made, X509_get_subject_name(issuer ? issuer->certificate.get() : made));
    if (wish.is_authority) extend(made, NID_basic_constraints, "critical,CA:TRUE");
    if (!wish.names.empty()) extend(made, NID_subject_alt_name, wish.names);
    if (X509_sign(made, (issuer ? *issuer : out).key.get(), EVP_sha256()) == 0) throw std::runtime_error("no certificate");
    return out;
  }
  static void extend(X509* certificate, int kind, const std::string& value) {
    auto* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    if (extension == nullptr) throw std::runtime_error("no extension");
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  TestCertificate own_;
};

}  // namespace waybill::testing
