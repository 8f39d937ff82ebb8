// A small blocking HTTP/1.1 client of the tests' own, which can also send what no honest client would.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/eventually.h"
#include "support/socket.h"

namespace waybill::testing {

struct HttpResponse {
  int status = 0;
  std::string head;  // header lines as they came
  std::string body;

  std::optional<std::string> header(std::string_view name) const { return header_value(head, name); }
  nlohmann::json json() const;     // throws if the body is not JSON
  std::string error_code() const;  // of {"error":{"code",...}}; "" if it is not of this shape
  std::string error_message() const;
};

// One connection, kept alive and opened again when it has gone. One thread at a time.
class HttpClient {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  explicit HttpClient(std::uint16_t port, std::chrono::milliseconds bound = kBound) : port_(port), bound_(bound) {}

  // Throws when no whole answer comes within the bound.
  HttpResponse request(std::string_view method, std::string_view target, std::string_view body = "", const Fields& fields = {});
  // The same, but none instead of an exception: for callers who expect the host to die under their hands.
  std::optional<HttpResponse> try_request(std::string_view method, std::string_view target, std::string_view body = "",
                                          const Fields& fields = {});
  HttpResponse get(std::string_view target) { return request("GET", target); }

  // Sends any bytes over a new connection and reads one answer; none if the other side closed without one.
  std::optional<HttpResponse> exchange(std::string_view bytes);

  void authorize(std::string token) { token_ = std::move(token); }  // sent as a bearer token from now on

 private:
  std::optional<HttpResponse> read_response(bool expects_body);
  std::optional<HttpResponse> attempt(const std::string& head, std::string_view body, bool expects_body);

  std::uint16_t port_;
  std::chrono::milliseconds bound_;
  std::string token_;
  Socket socket_;
  std::string unread_;
};

}  // namespace waybill::testing
