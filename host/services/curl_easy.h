// An easy handle of curl as every protocol here uses it: no proxy, no .netrc, no signals, addresses checked before a connection.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "services/net_error.h"

namespace waybill {

// Called with each address before a connection is opened; none allows all.
using AddressGuard = std::function<bool(const sockaddr&)>;

class CurlEasy {
 public:
  // `owner` comes back from owner_of. The protocols are curl's words, separated by commas.
  CurlEasy(const AddressGuard& allow, void* owner, const char* protocols);
  ~CurlEasy();
  CurlEasy(const CurlEasy&) = delete;
  CurlEasy& operator=(const CurlEasy&) = delete;

  static void* owner_of(void* easy);
  void* get() const { return easy_; }
  bool address_refused() const { return address_refused_; }
  void check_certificates(bool check);
  // What went wrong, in one line for people; `code` is a CURLcode.
  std::string failure(int code) const;
  void forget();  // what the last transfer left behind

 private:
  struct Callbacks;

  void* easy_;
  const AddressGuard& allow_;
  bool address_refused_ = false;
  std::vector<char> error_text_;
};

// The class of a CURLcode that is no success. What is about TLS and what is about none of the phases that all protocols
// share is the caller's to name.
NetError error_of(int code, NetError about_tls, NetError otherwise);

}  // namespace waybill
