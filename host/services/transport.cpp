// Reading certificates and keys, and checking with OpenSSL that a connection can use them.
#include "services/transport.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <ctime>
#include <utility>
#include <vector>

#include "base/file_text.h"
#include "base/hex.h"
#include "domain/idempotency.h"
#include "services/secrets.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxBytes = 4 << 20;  // the system's authorities have about 200 KB

template <auto Free>
struct FreeWith {
  template <class T>
  void operator()(T* one) const {
    Free(one);
  }
};
using Bio = std::unique_ptr<BIO, FreeWith<&BIO_free_all>>;
using Certificate = std::unique_ptr<X509, FreeWith<&X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, FreeWith<&EVP_PKEY_free>>;

tl::expected<std::string, std::string> text_of(const std::filesystem::path& file) {
  const auto refuse = [&](const std::string& why) { return tl::unexpected("file " + file.string() + " cannot be read: " + why); };
  auto text = read_file(file, kMaxBytes);
  if (!text) return refuse(text.error().why == UnreadFile::Why::not_a_file ? "it is not a file" : text.error().reason);
  if (text->size() > kMaxBytes) return refuse("it is longer than 4 MiB");
  return std::move(*text);
}

Bio over(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// All certificates of a PEM text; none if one of them cannot be read.
std::vector<Certificate> certificates_in(const std::string& text) {
  std::vector<Certificate> all;
  const auto bio = over(text);
  while (auto* const one = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) all.emplace_back(one);
  const auto last = ERR_peek_last_error();
  ERR_clear_error();
  const bool at_end = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  if (!at_end) all.clear();
  return all;
}

// A key with a password would have OpenSSL ask for it on the terminal.
Key key_in(const std::string& text) {
  constexpr auto kNoPassword = [](char*, int, int, void*) { return 0; };
  Key key(PEM_read_bio_PrivateKey(over(text).get(), nullptr, kNoPassword, nullptr));
  ERR_clear_error();
  return key;
}

bool has_expired(const X509* certificate) { return X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0; }

std::string hash_of(const std::string& text) { return to_hex(as_view(sha256(text))); }

}  // namespace

std::shared_ptr<const Authorities> authorities_in(const std::string& pem) {
  const auto all = certificates_in(pem);
  if (all.empty()) return nullptr;
  Authorities out{.store = {X509_STORE_new(), &X509_STORE_free}, .mark = {}, .has_expired = true};
  if (!out.store) return nullptr;
  // As curl's own: an intermediate authority of the file needs no root beside it.
  X509_STORE_set_flags(out.store.get(), X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
  for (const auto& one : all) {
    if (X509_STORE_add_cert(out.store.get(), one.get()) != 1) return nullptr;
    out.has_expired = out.has_expired && has_expired(one.get());
  }
  const Bio first(BIO_new(BIO_s_mem()));
  char* data = nullptr;
  if (!first || PEM_write_bio_X509(first.get(), all.front().get()) != 1) return nullptr;
  const auto size = BIO_get_mem_data(first.get(), &data);
  out.mark = std::string(data, static_cast<std::size_t>(size)) + hash_of(pem) + "\n";
  return std::make_shared<const Authorities>(std::move(out));
}

Result<std::vector<CertificateEnd>> certificate_ends(const std::filesystem::path& file) {
  const auto text = text_of(file);
  if (!text) return fail(Error::Kind::invalid, text.error());
  const auto certificates = certificates_in(*text);
  if (certificates.empty())
    return fail(Error::Kind::invalid, "file " + file.string() + " holds no certificates in PEM, or one that cannot be read");
  std::vector<CertificateEnd> all;
  for (const auto& one : certificates) {
    char subject[256] = "";
    X509_NAME_oneline(X509_get_subject_name(one.get()), subject, sizeof subject);
    std::tm end{};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(one.get()), &end) != 1)
      return fail(Error::Kind::invalid, "file " + file.string() + " holds a certificate whose end cannot be read");
    all.push_back({subject, {timegm(&end) * std::int64_t{1'000'000}}});
  }
  return all;
}

class TransportReader::Reading {
 public:
  Reading(TransportReader& reader, const TransportRules& rules, const Problem& place)
      : reader_(reader), rules_(rules), place_(place) {}

  tl::expected<std::shared_ptr<const Transport>, Problems> read() {
    out_.tls_min = rules_.tls_min;
    out_.insecure = rules_.insecure;
    out_.unverified_login = rules_.unverified_login || rules_.insecure;
    read_authorities();
    read_certificate();
    if (!problems_.empty()) return tl::unexpected(std::move(problems_));
    const std::string none;
    std::string all;
    for (const auto& part : {out_.authorities ? out_.authorities->mark : none, out_.certificate, out_.key.expose()})
      all += std::to_string(part.size()) + ":" + part;
    for (const bool flag : {out_.tls_min == TlsVersion::v1_3, out_.insecure, out_.unverified_login}) all += flag ? '1' : '0';
    out_.identity = hash_of(all);
    return std::make_shared<const Transport>(std::move(out_));
  }

 private:
  void report(std::string_view field, std::string message) { note(problems_, field, std::move(message)); }
  void note(Problems& into, std::string_view field, std::string message) const {
    auto problem = place_;
    problem.field.append(problem.field.empty() ? "" : ".").append(field);
    problem.message = std::move(message);
    into.push_back(std::move(problem));
  }

  void read_authorities() {
    if (rules_.ca_file.empty()) return;
    const auto& found = reader_.authorities_of(rules_.ca_file);
    if (!found) return report("ca_file", found.error());
    out_.authorities = *found;
    if ((*found)->has_expired)
      note(reader_.remarks_, "ca_file", "every certificate of file " + rules_.ca_file.string() + " has expired");
  }

  void read_certificate() {
    if (rules_.client_certificate.empty()) {
      if (!rules_.client_key.empty()) report("client_key", "is of no use without client_certificate");
      return;
    }
    auto text = text_of(rules_.client_certificate);
    if (!text) return report("client_certificate", std::move(text.error()));
    const auto chain = certificates_in(*text);
    const auto shown = "file " + rules_.client_certificate.string();
    if (chain.empty()) return report("client_certificate", shown + " holds no certificate in PEM, or one that cannot be read");
    auto key_text = read_key(*text);
    if (!key_text) return report("client_key", std::move(key_text.error()));
    const auto key = key_in(*key_text);
    if (!key) return report("client_key", "is no private key in PEM, or one with a password: write it without");
    const bool fits = X509_check_private_key(chain.front().get(), key.get()) == 1;
    ERR_clear_error();
    if (!fits) return report("client_key", "is not the key of the certificate in " + shown);
    if (has_expired(chain.front().get()))
      note(reader_.remarks_, "client_certificate", "the certificate in " + shown + " has expired");
    out_.certificate = std::move(*text);
    out_.key = Secret(std::move(*key_text));
  }

  tl::expected<std::string, std::string> read_key(const std::string& certificate_file) const {
    if (rules_.client_key.empty()) return certificate_file;
    const auto name = key_secret(rules_);
    if (!name) return text_of(rules_.client_key);
    const auto* found = reader_.secrets_.find(*name);
    if (found == nullptr) return tl::unexpected("there is no secret \"" + *name + "\" under secrets");
    return found->front().expose();
  }

  TransportReader& reader_;
  const TransportRules& rules_;
  const Problem& place_;
  Problems problems_;
  Transport out_;
};

const TransportReader::Found& TransportReader::authorities_of(const std::filesystem::path& file) {
  const auto known = authorities_.find(file);
  if (known != authorities_.end()) return known->second;
  const auto read = [&]() -> Found {
    const auto text = text_of(file);
    if (!text) return tl::unexpected(text.error());
    if (auto found = authorities_in(*text)) return found;
    return tl::unexpected("file " + file.string() + " holds no certificates in PEM, or one that cannot be read");
  };
  return authorities_.emplace(file, read()).first->second;
}

tl::expected<std::shared_ptr<const Transport>, Problems> TransportReader::read(const TransportRules& rules,
                                                                               const Problem& place) {
  return Reading(*this, rules, place).read();
}

}  // namespace waybill
