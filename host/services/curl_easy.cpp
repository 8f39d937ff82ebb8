// An easy handle of curl as every protocol here uses it.
#include "services/curl_easy.h"

#include <curl/curl.h>

#include <new>
#include <utility>

#include "base/utf8.h"
#include "services/endpoint.h"

namespace waybill {

struct CurlEasy::Callbacks {
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
  check_certificates(true);
}

CurlEasy::~CurlEasy() { curl_easy_cleanup(easy_); }

void* CurlEasy::owner_of(void* easy) {
  char* owner = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &owner);
  return owner;
}

void CurlEasy::check_certificates(bool check) {
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, check ? 1L : 0L);
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, check ? 2L : 0L);
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

std::string CurlEasy::failure(int code) const {
  if (leave_.refusal()) return std::string(kAddressNotAllowed);
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
