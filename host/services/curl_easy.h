// An easy handle of curl as every protocol here uses it: no proxy, no .netrc, no signals, addresses checked before a connection.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/address_guard.h"
#include "services/net_error.h"
#include "services/transport.h"

struct curl_slist;

namespace waybill {

class CurlEasy {
 public:
  // `owner` comes back from owner_of. The protocols are curl's words, separated by commas.
  CurlEasy(const EgressPolicy& policy, void* owner, const char* protocols);
  ~CurlEasy();
  CurlEasy(const CurlEasy&) = delete;
  CurlEasy& operator=(const CurlEasy&) = delete;

  static void* owner_of(void* easy);
  void* get() const { return easy_; }
  ConnectLeave& leave() { return leave_; }  // asked before each connection; to be reset before each transfer
  const ConnectLeave& leave() const { return leave_; }
  // Resolves the authority ("example.org:443") to the addresses of the leave, whatever a resolver would say.
  void pin_addresses(std::string_view authority);
  // By default a server's certificate is checked: who signed it, that it names the host in its subject alternative names (a
  // common name alone is refused), and that TLS is 1.2 or newer, whatever OpenSSL's configuration says.
  void check_certificates(bool check);
  // Other authorities, a certificate of our own, a later TLS; null: none of them. Connections with different ones are kept apart.
  void secure(std::shared_ptr<const Transport> transport);
  // Whether the server refused our certificate, or that there is none: with TLS 1.3 it says so when the client's part of the
  // handshake is over, and a request may be under way that it will not read.
  bool refused_us(int code) const;
  // What went wrong, in one line for people; `code` is a CURLcode.
  std::string failure(int code) const;
  void forget();  // what the last transfer left behind

 private:
  struct Callbacks;

  void* easy_;
  ConnectLeave leave_;
  std::string pinned_;  // "+example.org:443:192.0.2.1,2001:db8::1"
  std::vector<curl_slist> pinned_list_;
  std::vector<char> error_text_;
  bool checks_ = true;
  std::shared_ptr<const Transport> transport_;  // null: the defaults; curl has pointers into it
};

// The class of a CURLcode that is no success. What is about TLS and what is about none of the phases that all protocols
// share is the caller's to name.
NetError error_of(int code, NetError about_tls, NetError otherwise);

}  // namespace waybill
