// Verifies as OpenSSL does for a server whose clients show certificates (tls.cpp).
#include "http/client_certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace waybill::http {
namespace {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* one) const {
    Free(one);
  }
};
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;

void free_chain(STACK_OF(X509) * chain) { sk_X509_pop_free(chain, X509_free); }

int no_passphrase(char*, int, int, void*) { return -1; }

std::string reason_of(int error, const std::filesystem::path& client_ca) {
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "the certificate has expired, or one of its authorities has";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "the certificate is not valid yet, or one of its authorities is not";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "the certificate is not issued by tls.client_ca (" + client_ca.string() +
             "): " + X509_verify_cert_error_string(error);
    default:
      return "a client cannot show this certificate: " + std::string(X509_verify_cert_error_string(error));
  }
}

}  // namespace

Result<void> expect_client_certificate(const std::filesystem::path& file, const std::filesystem::path& client_ca) {
  const auto refuse = [&](const std::string& why) {
    ERR_clear_error();
    return fail(Error::Kind::invalid, file.string() + ": " + why);
  };
  if (client_ca.empty())
    return refuse("tls.client_ca is not set in the configuration: no certificate of a client would be asked for");
  const std::unique_ptr<BIO, Freed<BIO_free_all>> in(BIO_new_file(file.c_str(), "r"));
  const Certificate certificate(in ? PEM_read_bio_X509(in.get(), nullptr, no_passphrase, nullptr) : nullptr);
  if (!certificate) return refuse("no certificate in PEM");
  const std::unique_ptr<STACK_OF(X509), Freed<free_chain>> chain(sk_X509_new_null());
  while (X509* next = PEM_read_bio_X509(in.get(), nullptr, no_passphrase, nullptr)) sk_X509_push(chain.get(), next);
  const std::unique_ptr<X509_STORE, Freed<X509_STORE_free>> authorities(X509_STORE_new());
  if (X509_STORE_load_file(authorities.get(), client_ca.c_str()) != 1)
    return refuse("tls.client_ca: " + client_ca.string() + ": no certificates in PEM");
  const std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>> check(X509_STORE_CTX_new());
  if (X509_STORE_CTX_init(check.get(), authorities.get(), certificate.get(), chain.get()) != 1)
    return refuse("OpenSSL cannot verify it");
  X509_STORE_CTX_set_default(check.get(), "ssl_client");
  ERR_clear_error();
  if (X509_verify_cert(check.get()) == 1) return {};
  return refuse(reason_of(X509_STORE_CTX_get_error(check.get()), client_ca));
}

}  // namespace waybill::http
