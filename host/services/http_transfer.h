// One HTTP request being carried out: an easy handle of curl, used again and again, and what it has received so far.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/curl_easy.h"
#include "services/http_message.h"

struct curl_slist;

namespace waybill {

// Belongs to the thread of its event loop.
class HttpTransfer {
 public:
  HttpTransfer(const EgressPolicy& policy, const std::string& user_agent);
  ~HttpTransfer();

  // Takes the request over, or says why it must not be sent. The endpoint is known afterwards.
  // `unix_now`: the time of a signature.
  Result<void> prepare(HttpRequest request, const Secrets& secrets, std::int64_t unix_now);
  // A tenant's request connects to these addresses only.
  void connect_only_to(std::vector<IpAddress> addresses);
  void limit_time(Millis timeout);
  // What came of it, once curl is done with the handle; `code` is a CURLcode.
  HttpResponse finish(int code, std::int64_t unix_now);
  void clear();  // ready for the next request, without the memory of a huge one

  std::uint64_t id = 0;  // the client's number for the request in hand

  void* easy() const { return easy_.get(); }
  const HttpRequest& request() const { return request_; }
  const std::string& endpoint() const { return endpoint_; }
  // How far it has got, also for one that is given up.
  void describe_connection(HttpResponse& response) const;
  Reach reach() const;
  std::int32_t status() const;

 private:
  struct Callbacks;
  void set_constant_options(const std::string& user_agent);
  Result<void> sign(const Secrets& secrets, std::int64_t unix_now);
  Result<void> refuse_secret_in_clear() const;
  bool take_header(std::string_view line);
  NetError classify(int code) const;

  CurlEasy easy_;
  HttpRequest request_;
  std::string endpoint_, endpoint_url_;  // of the URL that was parsed last: most requests of a handle go to the same one
  std::vector<std::string> header_lines_;
  std::vector<curl_slist> header_list_;
  HttpResponse response_;
  std::size_t header_bytes_ = 0;
  bool issued_ = false;  // a connection was ready and the request was about to be written to it
  bool headers_too_long_ = false;
  bool refused_us_ = false;  // the handshake failed at its very end, after issued_
  bool in_clear_ = false;    // the URL that was parsed last is http
};

}  // namespace waybill
