// An easy handle of curl as every protocol here uses it.
#include "services/curl_easy.h"

#include <curl/curl.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <new>
#include <stdexcept>
#include <utility>

#include "base/utf8.h"
#include "services/endpoint.h"

namespace waybill {
namespace {

constexpr int kNamesNoHost = X509_V_ERR_APPLICATION_VERIFICATION;  // nobody else reports it here

bool names_a_host(X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, void (*)(GENERAL_NAMES*)> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)), &GENERAL_NAMES_free);
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const auto type = sk_GENERAL_NAME_value(names.get(), i)->type;
    if (type == GEN_DNS || type == GEN_IPADD) return true;
  }
  return false;
}

// curl compares the host with a certificate's common name where there are no alternative names.
int check_certificate(int good, X509_STORE_CTX* chain) {
  if (good != 1 || X509_STORE_CTX_get_error_depth(chain) != 0) return good;
  auto* const certificate = X509_STORE_CTX_get_current_cert(chain);
  if (certificate != nullptr && names_a_host(certificate)) return 1;
  X509_STORE_CTX_set_error(chain, kNamesNoHost);
  return 0;
}

}  // namespace

struct CurlEasy::Callbacks {
  // Has no pointer to this object: the connection outlives it.
  static CURLcode set_up_tls(CURL*, void* context, void* self) {
    const auto& easy = *static_cast<CurlEasy*>(self);
    auto* const tls = static_cast<SSL_CTX*>(context);
    if (easy.checks_) SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, &check_certificate);
    if (easy.transport_ && easy.transport_->authorities) SSL_CTX_set1_cert_store(tls, easy.transport_->authorities->store.get());
    return CURLE_OK;
  }
  static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* address) {
    auto& easy = *static_cast<CurlEasy*>(self);
    try {
      if (!easy.leave_.may_open(address->addr)) return CURL_SOCKET_BAD;
    } catch (...) {
      return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }
};

CurlEasy::CurlEasy(const EgressPolicy& policy, void* owner, const char* protocols)
    : easy_(curl_easy_init()), leave_(policy), error_text_(CURL_ERROR_SIZE) {
  if (easy_ == nullptr) throw std::bad_alloc();
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
  set(CURLOPT_PRIVATE, owner);
  set(CURLOPT_ERRORBUFFER, error_text_.data());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // giving up must not wait for the resolver's thread
  set(CURLOPT_PROTOCOLS_STR, protocols);
  set(CURLOPT_PROXY, "");  // also shuts out the environment's
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_OPENSOCKETFUNCTION, &Callbacks::open_socket);
  set(CURLOPT_OPENSOCKETDATA, this);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_SSL_CTX_DATA, this);
  if (curl_easy_setopt(easy_, CURLOPT_SSL_CTX_FUNCTION, &Callbacks::set_up_tls) != CURLE_OK) {
    curl_easy_cleanup(easy_);
    throw std::runtime_error("this libcurl does not use OpenSSL");
  }
  check_certificates(true);
}

CurlEasy::~CurlEasy() { curl_easy_cleanup(easy_); }

void* CurlEasy::owner_of(void* easy) {
  char* owner = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &owner);
  return owner;
}

void CurlEasy::check_certificates(bool check) {
  checks_ = check;
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, check ? 1L : 0L);
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, check ? 2L : 0L);
}

void CurlEasy::secure(std::shared_ptr<const Transport> transport) {
  if (transport == transport_) return;
  static const Transport defaults;
  const auto& given = transport ? *transport : defaults;
  const auto set_text = [this](CURLoption option, const std::string& text) {
    curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
    curl_easy_setopt(easy_, option, text.empty() ? nullptr : &blob);
  };
  // curl copies and compares this for each connection; all of them are set in set_up_tls.
  static const std::string none;
  set_text(CURLOPT_CAINFO_BLOB, given.authorities ? given.authorities->mark : none);
  set_text(CURLOPT_SSLCERT_BLOB, given.certificate);
  set_text(CURLOPT_SSLKEY_BLOB, given.key.expose());
  const bool late = given.tls_min == TlsVersion::v1_3;
  curl_easy_setopt(easy_, CURLOPT_SSLVERSION, static_cast<long>(late ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2));
  transport_ = std::move(transport);
}

void CurlEasy::pin_addresses(std::string_view authority) {
  const auto host = split_authority(authority).host;
  if (host.starts_with('[') || parse_address(host)) return;  // curl resolves nothing
  pinned_ = "+";                                             // for as long as curl remembers what it resolved itself
  pinned_ += authority;
  for (char between = ':'; const auto& address : leave_.addresses()) {
    pinned_ += std::exchange(between, ',');
    pinned_ += address.is_v6 ? '[' + address.text() + ']' : address.text();
  }
  pinned_list_.assign(1, {pinned_.data(), nullptr});
  curl_easy_setopt(easy_, CURLOPT_RESOLVE, pinned_list_.data());
}

bool CurlEasy::refused_us(int code) const {
  if (code != CURLE_RECV_ERROR && code != CURLE_SEND_ERROR) return false;
  const std::string_view text = error_text_.data();
  if (text.find("SSL routines") == std::string_view::npos) return false;
  for (const auto* alert :
       {"alert certificate required", "alert bad certificate", "alert unsupported certificate", "alert certificate revoked",
        "alert certificate expired", "alert certificate unknown", "alert unknown ca", "alert access denied"})
    if (text.find(alert) != std::string_view::npos) return true;
  return false;
}

std::string CurlEasy::failure(int code) const {
  if (leave_.refusal()) return std::string(kAddressNotAllowed);
  long verified = X509_V_OK;
  if (code == CURLE_PEER_FAILED_VERIFICATION) curl_easy_getinfo(easy_, CURLINFO_SSL_VERIFYRESULT, &verified);
  if (verified == kNamesNoHost) return "the certificate names no host in its subject alternative names";
  const std::string_view text = error_text_.data();
  auto line = clean_text(text.empty() ? curl_easy_strerror(static_cast<CURLcode>(code)) : text, 200);
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

void CurlEasy::forget() {
  if (!pinned_.empty()) {
    curl_easy_setopt(easy_, CURLOPT_RESOLVE, nullptr);
    pinned_.clear();
  }
  error_text_.front() = '\0';
}

NetError error_of(int code, NetError about_tls, NetError otherwise) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return NetError::resolve;
    case CURLE_COULDNT_CONNECT:
      return NetError::connect;
    case CURLE_OPERATION_TIMEDOUT:
      return NetError::timeout;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_USE_SSL_FAILED:
      return about_tls;
    case CURLE_URL_MALFORMAT:
      return NetError::refused;
    default:
      return otherwise;
  }
}

}  // namespace waybill
