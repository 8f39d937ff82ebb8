// Certificates and keys in PEM, made for one test.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace waybill::http::stories {

struct Key {
  std::shared_ptr<EVP_PKEY> key{EVP_EC_gen("P-256"), EVP_PKEY_free};
};
inline Key rsa_key() { return Key{std::shared_ptr<EVP_PKEY>(EVP_RSA_gen(2048), EVP_PKEY_free)}; }

struct CertificateSpec {
  std::string name = "localhost";
  bool is_authority = false;
  int from_days = -1;
  int to_days = 1;
  int to_seconds = 0;  // beside to_days
};

struct Certificate {
  Key key;
  std::shared_ptr<X509> x509;
};

inline void extend(X509* certificate, int nid, const char* value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Signed by `signer`, or by itself.
inline Certificate make_certificate(const CertificateSpec& spec, const Certificate* signer = nullptr) {
  static long serial = 1;
  Certificate made{{}, {X509_new(), X509_free}};
  X509* x509 = made.x509.get();
  X509_set_version(x509, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(x509), 86'400L * spec.from_days);
  X509_gmtime_adj(X509_getm_notAfter(x509), 86'400L * spec.to_days + spec.to_seconds);
  X509_set_pubkey(x509, made.key.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(spec.name.c_str()), -1, -1, 0);
  X509_set_issuer_name(x509, X509_get_subject_name(signer ? signer->x509.get() : x509));
  extend(x509, NID_basic_constraints, spec.is_authority ? "critical,CA:TRUE" : "CA:FALSE");
  if (!spec.is_authority) extend(x509, NID_subject_alt_name, ("DNS:" + spec.name).c_str());
  X509_sign(x509, (signer ? signer->key : made.key).key.get(), EVP_sha256());
  return made;
}

template <class Write>
std::string pem_of(Write write) {
  BIO* out = BIO_new(BIO_s_mem());
  write(out);
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(out, &bytes);
  std::string text(bytes, static_cast<std::size_t>(size));
  BIO_free(out);
  return text;
}

inline std::string certificate_pem(const Certificate& one) {
  return pem_of([&](BIO* out) { PEM_write_bio_X509(out, one.x509.get()); });
}
// With a passphrase, if one is given.
inline std::string key_pem(const Certificate& one, const char* passphrase = nullptr) {
  return pem_of([&](BIO* out) {
    PEM_write_bio_PrivateKey(out, one.key.key.get(), passphrase ? EVP_aes_128_cbc() : nullptr, nullptr, 0, nullptr,
                             const_cast<char*>(passphrase));
  });
}

// A folder with files that is gone at the end.
class PemFolder {
 public:
  PemFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "waybill-tls-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  PemFolder(const PemFolder&) = delete;
  PemFolder& operator=(const PemFolder&) = delete;
  ~PemFolder() { std::filesystem::remove_all(path_); }
  // Renamed into place, as renewing tools do.
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / (name + ".new")) << text;
    std::filesystem::rename(path_ / (name + ".new"), path_ / name);
    return path_ / name;
  }
  std::filesystem::path path(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace waybill::http::stories
