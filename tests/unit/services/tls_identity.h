// A certificate for 127.0.0.1 that is its own authority, with its key: made afresh, as a listener and as a file to trust.
#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace waybill::testing {

class TlsIdentity {
 public:
  explicit TlsIdentity(const std::string& names = "IP:127.0.0.1")
      : key_(EVP_EC_gen("P-256"), &EVP_PKEY_free),
        certificate_(X509_new(), &X509_free),
        context_(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free) {
    auto* const made = certificate_.get();
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -60);
    X509_gmtime_adj(X509_getm_notAfter(made), 3600);
    X509_set_pubkey(made, key_.get());
    auto* const name = X509_get_subject_name(made);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("relay"), -1, -1, 0);
    X509_set_issuer_name(made, name);
    auto* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
    X509_add_ext(made, extension, -1);
    X509_EXTENSION_free(extension);
    if (X509_sign(made, key_.get(), EVP_sha256()) == 0 || SSL_CTX_use_certificate(context_.get(), made) != 1 ||
        SSL_CTX_use_PrivateKey(context_.get(), key_.get()) != 1)
      throw std::runtime_error("no certificate");
    file_ = ::testing::TempDir() + "certificateXXXXXX";
    const int fd = mkstemp(file_.data());
    std::FILE* const file = fd < 0 ? nullptr : fdopen(fd, "w");
    if (file == nullptr || PEM_write_X509(file, made) != 1) throw std::runtime_error("no certificate file");
    std::fclose(file);
  }
  ~TlsIdentity() { std::remove(file_.c_str()); }
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  SSL_CTX* context() const { return context_.get(); }
  const std::string& file() const { return file_; }

 private:
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
  std::unique_ptr<X509, decltype(&X509_free)> certificate_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::string file_;
};

}  // namespace waybill::testing
