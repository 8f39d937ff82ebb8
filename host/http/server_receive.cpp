// Reads one request from a connection within its limits of size and time.
#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>

#include "http/server_connection.h"

namespace waybill::http {
namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace {

constexpr auto kWait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kHeadRead = 2 << 10;  // small: every idle connection holds one
constexpr std::size_t kBodyRead = 32 << 10;

Response invalid(std::string_view message) { return error_response(400, "invalid_request", message); }

Response headers_too_large() { return error_response(431, "headers_too_large", "the request's headers are too large"); }

// "GET / HTTP/2.0" is a request of another version; anything else is no request line at all.
bool is_other_version(std::string_view text) {
  const auto line = text.substr(0, text.find_first_of("\r\n"));
  const auto version = line.substr(std::min(line.rfind(' '), line.size()));
  const auto digit = [&](std::size_t at) { return version[at] >= '0' && version[at] <= '9'; };
  return version.size() == 9 && version.starts_with(" HTTP/") && digit(6) && version[7] == '.' && digit(8) &&
         version != " HTTP/1.0" && version != " HTTP/1.1";
}

}  // namespace

asio::awaitable<ServerConnection::ReceiveResult> ServerConnection::receive() {
  bool begun = buffer_.size() > 0;
  if (!begun && serving_.stopping) co_return ReceiveResult{.gone = true, .refusal = {}};
  idle_ = !begun;
  allow(begun ? serving_.timeouts.request_read : serving_.timeouts.idle);
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(serving_.limits.header_bytes + 1, UINT32_MAX)));
  parser_->body_limit(serving_.limits.body_bytes);
  head_bytes_ = 0;
  head_done_ = false;
  bool continued = false;

  for (;;) {
    if (auto refusal = parse()) co_return ReceiveResult{.gone = false, .refusal = std::move(refusal)};
    if (parser_->is_done()) {
      allow_forever();
      co_return ReceiveResult{};
    }
    if (head_done_ && !continued) {
      continued = true;
      const auto expect = parser_->get()[http::field::expect];
      if (!expect.empty() && buffer_.size() == 0 && !co_await write("HTTP/1.1 100 Continue\r\n\r\n", {}))
        co_return ReceiveResult{.gone = true, .refusal = {}};
    }
    const bool full = buffer_.size() == buffer_.max_size();
    if (full)
      co_return ReceiveResult{.gone = false,
                              .refusal = head_done_ ? invalid("a chunk's header is too long") : headers_too_large()};
    if (co_await read_more(head_done_ ? kBodyRead : kHeadRead)) {
      if (!expired_ || !begun) co_return ReceiveResult{.gone = true, .refusal = {}};
      co_return ReceiveResult{.gone = false,
                              .refusal = error_response(408, "request_timeout", "the request did not arrive in time")};
    }
    if (!begun) {
      begun = true;
      idle_ = false;
      allow(serving_.timeouts.request_read);
    }
  }
}

asio::awaitable<ServerConnection::ErrorCode> ServerConnection::read_more(std::size_t size) {
  size = std::min(size, buffer_.max_size() - buffer_.size());
  const auto [error, read] = co_await socket_.async_read_some(buffer_.prepare(size), kWait);
  buffer_.commit(read);
  co_return error;
}

// Takes in what the buffer holds of this request, and no more.
std::optional<Response> ServerConnection::parse() {
  if (head_bytes_ == 0 && !skip_empty_lines()) return std::nullopt;
  while (buffer_.size() > 0 && !parser_->is_done()) {
    const bool in_head = !parser_->is_header_done();
    ErrorCode error;
    const std::size_t used = parser_->put(buffer_.data(), error);
    buffer_.consume(used);
    if (in_head) head_bytes_ += used;
    const bool more_head = !parser_->is_header_done();
    // Beast's own limit starts anew with every piece that comes.
    if (in_head && head_bytes_ + (more_head ? buffer_.size() : 0) > serving_.limits.header_bytes) return headers_too_large();
    if (error && error != http::error::need_more) return refusal_of(error);
    if (!more_head && !head_done_) {
      head_done_ = true;
      if (auto refusal = check_head()) return refusal;
    }
    if (error || used == 0) break;
  }
  return std::nullopt;
}

// RFC 9112, 2.2: an empty line before the request line is passed over. False while it is not known to be one.
bool ServerConnection::skip_empty_lines() {
  const auto bytes = [&] { return std::string_view(static_cast<const char*>(buffer_.data().data()), buffer_.size()); };
  while (bytes().starts_with("\r\n")) buffer_.consume(2);
  return bytes() != "\r";
}

std::optional<Response> ServerConnection::check_head() {
  const auto& head = parser_->get();
  const auto count = [&](http::field name) { return head.count(name); };
  if (count(http::field::transfer_encoding) > 0) {  // anything but the plain form may mean another length to somebody else
    if (count(http::field::content_length) > 0) return invalid("both Content-Length and Transfer-Encoding");
    if (count(http::field::transfer_encoding) > 1 || head.version() < 11 ||
        !boost::beast::iequals(head[http::field::transfer_encoding], "chunked"))
      return invalid("the only transfer coding is chunked, in HTTP/1.1");
  }
  if (count(http::field::host) > 1 || (head.version() == 11 && count(http::field::host) == 0))
    return invalid("there must be one Host header");
  if (head[http::field::host].find_first_of(" ,/@?#") != std::string_view::npos) return invalid("the Host header is not a host");
  if (count(http::field::authorization) > 1) return invalid("there is more than one Authorization header");
  if (count(http::field::content_type) > 1) return invalid("there is more than one Content-Type header");
  const auto expect = head[http::field::expect];
  if (!expect.empty() && !boost::beast::iequals(expect, "100-continue"))
    return error_response(417, "expectation_failed", "the only expectation is 100-continue");
  const auto authorization = head[http::field::authorization];
  const auto content_type = head[http::field::content_type];
  authorization_.assign(authorization.data(), authorization.size());
  content_type_.assign(content_type.data(), content_type.size());
  content_encoding_.clear();
  for (auto [one, last] = head.equal_range(http::field::content_encoding); one != last; ++one)
    content_encoding_.append(one->value().data(), one->value().size()).append(",");
  return std::nullopt;
}

std::optional<Response> ServerConnection::refusal_of(ErrorCode error) const {
  if (error == http::error::header_limit) return headers_too_large();
  if (error == http::error::body_limit) return error_response(413, "body_too_large", "the request's body is too large");
  const auto text = boost::beast::buffers_to_string(buffer_.data());
  if (error == http::error::bad_version && is_other_version(text))
    return error_response(505, "version_not_supported", "only HTTP/1.0 and HTTP/1.1 are spoken here");
  return invalid("not HTTP: " + error.message());
}

}  // namespace waybill::http
