// Reads one request from a connection within its limits of size, memory and time: first the head, and the body once the request
// may have one.
#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>

#include "http/forwarded.h"
#include "http/host_header.h"
#include "http/server_connection.h"

namespace waybill::http {
namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace {

constexpr std::size_t kHeadRead = 2 << 10;  // small: every idle connection holds one
constexpr std::size_t kBodyRead = 32 << 10;
constexpr std::size_t kFraming = 8;  // a chunk of one byte is sent as six; what frames a body may be so many times its size

Response invalid(std::string_view message) { return error_response(400, "invalid_request", message); }

Response headers_too_large() { return error_response(431, "headers_too_large", "the request's headers are too large"); }

std::string_view view_of(const boost::beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

std::string text_of(boost::beast::string_view value) { return {value.data(), value.size()}; }

// All values of a header, joined with commas.
std::string joined(const http::fields& head, std::string_view name) {
  std::string values;
  const auto [begin, end] = head.equal_range(boost::beast::string_view(name.data(), name.size()));
  for (auto at = begin; at != end; ++at) values.append(values.empty() ? "" : ",").append(text_of(at->value()));
  return values;
}

}  // namespace

namespace {

// The parser leaves a chunk's header and the trailers in the buffer until they are complete, and waits for a CR that never comes.
bool has_bare_line_feed(std::string_view framing) {
  for (std::size_t at = 0; (at = framing.find('\n', at)) != std::string_view::npos; ++at)
    if (at == 0 || framing[at - 1] != '\r') return true;
  return false;
}

}  // namespace

asio::awaitable<ServerConnection::ReceiveResult> ServerConnection::receive_head() {
  bool begun = buffer_.size() > 0;
  if (!begun && serving_.stopping && !is_fresh_) {
    co_await linger();  // its client may be sending the next request
    co_return ReceiveResult{.gone = true, .refusal = {}};
  }
  if (!begun && buffer_.capacity() > 2 * kHeadRead) buffer_.shrink_to_fit();
  idle_ = !begun;
  allow(begun ? serving_.timeouts.request_read : serving_.stopping ? kLastRequest : serving_.timeouts.idle);
  share_.release();
  client_ = neighbour_;
  scanner_ = HeadScanner();
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(serving_.limits.header_bytes + 1, UINT32_MAX)));
  parser_->body_limit(serving_.limits.body_bytes);

  for (bool is_complete = false;;) {
    if (auto refusal = read_head(is_complete)) co_return ReceiveResult{.gone = false, .refusal = std::move(refusal)};
    if (is_complete) co_return ReceiveResult{};
    if (buffer_.size() >= kHeadRead)
      if (auto refusal = hold(2 * serving_.limits.header_bytes))
        co_return ReceiveResult{.gone = false, .refusal = std::move(refusal)};
    if (co_await read_more(kHeadRead)) {
      if (!expired_ || !begun) co_return ReceiveResult{.gone = true, .refusal = {}};
      co_return ReceiveResult{.gone = false,
                              .refusal = error_response(408, "request_timeout", "the request did not arrive in time")};
    }
    if (is_leaving_) {
      co_await linger();
      co_return ReceiveResult{.gone = true, .refusal = {}};
    }
    if (!begun) {
      begun = true;
      idle_ = is_fresh_ = false;
      allow(serving_.timeouts.request_read);
    }
  }
}

asio::awaitable<ServerConnection::ReceiveResult> ServerConnection::receive_body() {
  if (parser_->is_done()) co_return ReceiveResult{};
  allow(serving_.timeouts.request_read);
  const auto refused = [](std::optional<Response> refusal) {
    return ReceiveResult{.gone = false, .refusal = std::move(refusal)};
  };
  if (const auto length = parser_->content_length(); length && *length > 0)
    if (auto refusal = hold(static_cast<std::size_t>(*length) + (*length > buffer_.size() ? kBodyRead : 0)))
      co_return refused(std::move(refusal));
  body_wire_bytes_ = 0;
  auto watch = [this](std::uint64_t size, boost::beast::string_view extensions, ErrorCode& error) {
    if (size == 0) check_trailers(extensions, error);
  };
  parser_->on_chunk_header(watch);
  bool has_waited = false;
  for (;;) {
    if (auto refusal = parse_body()) co_return refused(std::move(refusal));
    if (parser_->is_done()) break;
    if (parser_->chunked() && has_bare_line_feed(view_of(buffer_))) co_return refused(invalid("a chunk's line ends without CR"));
    if (!has_waited) {
      has_waited = true;
      const auto& head = parser_->get();
      if (head.version() >= 11 && !head[http::field::expect].empty() && buffer_.size() == 0 &&
          !co_await write("HTTP/1.1 100 Continue\r\n\r\n", {}))
        co_return ReceiveResult{.gone = true, .refusal = {}};
    }
    if (buffer_.size() == buffer_.max_size()) co_return refused(invalid("a chunk's header is too long"));
    if (co_await read_more(kBodyRead)) {
      if (!expired_) co_return ReceiveResult{.gone = true, .refusal = {}};
      co_return refused(error_response(408, "request_timeout", "the request did not arrive in time"));
    }
  }
  allow_forever();
  co_return ReceiveResult{.has_waited = has_waited};
}

// Takes the head out of the buffer once it is there.
std::optional<Response> ServerConnection::read_head(bool& is_complete) {
  if (scanner_.size() == 0 && !skip_empty_lines()) return std::nullopt;
  const auto verdict = scanner_.scan(view_of(buffer_));
  if (verdict == HeadScanner::Verdict::fault) return invalid("not HTTP: " + std::string(scanner_.fault()));
  if (verdict == HeadScanner::Verdict::other_version)
    return error_response(505, "version_not_supported", "only HTTP/1.0 and HTTP/1.1 are spoken here");
  if (scanner_.size() > serving_.limits.header_bytes) return headers_too_large();
  if (verdict == HeadScanner::Verdict::more) return std::nullopt;
  ErrorCode error;
  buffer_.consume(parser_->put(asio::buffer(buffer_.data(), scanner_.size()), error));
  if (error && error != http::error::need_more) return refusal_of(error);
  if (!parser_->is_header_done()) return invalid("not HTTP");
  is_complete = true;
  return check_head();
}

// RFC 9112, 2.2: an empty line before the request line is passed over. False while it is not known to be one.
bool ServerConnection::skip_empty_lines() {
  while (view_of(buffer_).starts_with("\r\n")) buffer_.consume(2);
  return view_of(buffer_) != "\r";
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
  if (const auto host = head[http::field::host]; host != good_host_ || host.empty()) {
    if (count(http::field::host) == 1 && !parse_authority({host.data(), host.size()}))
      return invalid("the Host header is not a host");
    good_host_ = text_of(host);
  }
  host_ = good_host_;
  const std::string_view target(head.target().data(), head.target().size());
  if (!target.starts_with('/')) {
    const auto authority = authority_of(target);
    if (!authority || !parse_authority(*authority)) return invalid("the request target is neither a path nor a URL of http");
    host_ = *authority;  // RFC 9112, 3.2.2: it counts, not the header
  }
  if (count(http::field::authorization) > 1) return invalid("there is more than one Authorization header");
  if (count(http::field::content_type) > 1) return invalid("there is more than one Content-Type header");
  const auto expect = head[http::field::expect];
  if (head.version() >= 11 && !expect.empty() && !boost::beast::iequals(expect, "100-continue"))
    return error_response(417, "expectation_failed", "the only expectation is 100-continue");
  if (count(http::field::origin) > 1) return invalid("there is more than one Origin header");
  origin_ = count(http::field::origin) == 0 ? std::nullopt : std::optional(text_of(head[http::field::origin]));
  authorization_ = text_of(head[http::field::authorization]);
  content_type_ = text_of(head[http::field::content_type]);
  content_encoding_ = joined(head, "Content-Encoding");
  // Two of them are none (W3C Trace Context, 4.3).
  trace_ = head.count("traceparent") == 1 ? trace_of(joined(head, "traceparent"), joined(head, "tracestate")) : nullptr;
  if (!place_) client_ = serving_.peers.find(client_address(address_, joined(head, "X-Forwarded-For"), serving_.trusted_proxies));
  return std::nullopt;
}

Request ServerConnection::request_of(Router::Match& match) {
  return {.method = match.route->method,
          .path = std::move(match.path),
          .query = std::string(match.query),
          .parameters = std::move(match.parameters),
          .content_type = std::move(content_type_),
          .content_encoding = std::move(content_encoding_),
          .accept = parser_->get().method() == http::verb::get ? joined(parser_->get(), "Accept") : std::string(),
          .authorization = std::move(authorization_),
          .peer = client_->address(),
          .certificate = tls_ ? tls_->client_certificate() : std::string(),
          .body = {},
          .principal = {},
          .trace = std::move(trace_),
          .connection = response_queue_};
}

// `extensions`: of the last chunk, at their place in the buffer. Its trailers, which follow, are read as strictly as a head.
void ServerConnection::check_trailers(boost::beast::string_view extensions, ErrorCode& error) const {
  const auto whole = view_of(buffer_);
  const char* const trailers = extensions.data() + extensions.size() + 2;  // behind CR LF
  HeadScanner scanner(HeadScanner::Begin::fields);
  if (scanner.scan({trailers, static_cast<std::size_t>(whole.data() + whole.size() - trailers)}) !=
      HeadScanner::Verdict::complete)
    error = http::error::bad_field;
}

// Takes in what the buffer holds of this request's body, and no more.
std::optional<Response> ServerConnection::parse_body() {
  while (buffer_.size() > 0 && !parser_->is_done()) {
    ErrorCode error;
    const std::size_t used = parser_->put(buffer_.data(), error);
    buffer_.consume(used);
    body_wire_bytes_ += used;
    if (error && error != http::error::need_more) return refusal_of(error);
    if (parser_->chunked()) {
      const auto& body = parser_->get().body();
      if (body_wire_bytes_ > serving_.limits.header_bytes + (kFraming + 1) * body.size())
        return invalid("the chunks have more around them than in them");
      if (auto refusal = hold(body.capacity() + kBodyRead)) return refusal;
    }
    if (error || used == 0) break;
  }
  return std::nullopt;
}

// For a request that was refused before its body was read: true if the next one can begin.
bool ServerConnection::pass_over_body() {
  if (parser_->is_done()) return true;
  const auto left = parser_->content_length_remaining();
  if (!left || *left > buffer_.size()) return false;
  buffer_.consume(static_cast<std::size_t>(*left));
  return true;
}

// Memory for so much of this request is there, or the refusal.
std::optional<Response> ServerConnection::hold(std::size_t bytes) {
  const auto answer = [](int status, std::string_view code, std::string_view message) {
    auto response = error_response(status, code, message);
    response.headers.emplace_back("Retry-After", "1");
    return response;
  };
  switch (share_.raise(client_, bytes)) {
    case ByteShare::Refusal::none:
      break;
    case ByteShare::Refusal::peer:
      return answer(429, "too_many_bytes", "this address has as many bytes under way as it may; try again");
    case ByteShare::Refusal::all:
      return answer(503, "unavailable", "the server has as many bytes of requests under way as it may; try again");
  }
  return std::nullopt;
}

std::optional<Response> ServerConnection::refusal_of(ErrorCode error) const {
  if (error == http::error::header_limit) return headers_too_large();
  if (error == http::error::body_limit) return error_response(413, "body_too_large", "the request's body is too large");
  return invalid("not HTTP: " + error.message());
}

}  // namespace waybill::http
