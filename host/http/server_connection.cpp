// Routes requests of one connection and has them answered.
#include "http/server_connection.h"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>

#include "http/access.h"
#include "http/server_message.h"

namespace waybill::http {
namespace asio = boost::asio;
namespace {

constexpr auto kWait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kDrainBytes = 4 << 20;
constexpr Millis kDrainTime{2'000};
constexpr std::size_t kWritePiece = 64 << 10;  // a client takes this much within the time of a request, or is let go

// The token of "Bearer <token>"; the authenticator reads it itself, so only its presence counts here.
bool has_bearer(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  return authorization.size() > kScheme.size() && boost::beast::iequals(authorization.substr(0, kScheme.size()), kScheme);
}

Response too_late() {
  auto response = error_response(503, "unavailable", "there was no answer in time; nothing was acknowledged, try again");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace

ServerConnection::ServerConnection(Socket socket, Serving& serving)
    : serving_(serving),
      socket_(std::move(socket)),
      buffer_(serving.limits.header_bytes + (64 << 10)),
      response_queue_(std::make_shared<ResponseQueue>(
          [this] {  // runs only while serve() waits, so `this` is there
            asio::post(socket_.get_executor(), [self = shared_from_this()] { self->answered_.cancel(); });
          },
          socket_.native_handle())),
      answered_(socket_.get_executor()) {
  ErrorCode ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  peer_ = socket_.remote_endpoint(ignored).address().to_string();
}

void ServerConnection::close() {
  response_queue_->forget_socket();
  ErrorCode ignored;
  socket_.close(ignored);
}

void ServerConnection::allow(Millis time) {
  deadline_ = std::chrono::steady_clock::now() + time;
  expired_ = false;
}

void ServerConnection::keep_deadline(Time now) {
  if (now < deadline_) return;
  allow_forever();
  expired_ = true;
  ErrorCode ignored;
  socket_.cancel(ignored);
}

void ServerConnection::close_if_idle() {
  if (idle_) close();
}

void ServerConnection::abort() {
  aborted_ = true;
  close();
  answered_.cancel();
}

asio::awaitable<void> ServerConnection::serve() {
  bool goes_on = true;  // GCC 12 makes broken code of a loop over co_await in a coroutine without locals
  while (goes_on) goes_on = co_await exchange();
  response_queue_->close();
  close();
}

asio::awaitable<void> ServerConnection::turn_away() {
  auto response = error_response(503, "too_many_connections", "the server has as many connections as it may; try again");
  response.headers.emplace_back("Retry-After", "1");
  if (co_await send(response, false, false, false)) co_await linger();
  close();
}

asio::awaitable<bool> ServerConnection::exchange() {
  const ReceiveResult received = co_await receive();
  if (received.gone) co_return false;
  if (received.refusal) {
    serving_.metrics.http_request("unmatched", received.refusal->status);
    if (co_await send(*received.refusal, false, false, false)) co_await linger();
    co_return false;
  }

  auto message = parser_->release();
  const std::string_view method(message.method_string().data(), message.method_string().size());
  const std::string_view target(message.target().data(), message.target().size());
  auto match = serving_.router.find(method, target);
  std::optional<Response> response = std::move(match.refusal);
  if (!response) {
    Request request{.method = match.route->method,
                    .path = std::move(match.path),
                    .query = std::string(match.query),
                    .parameters = std::move(match.parameters),
                    .content_type = std::move(content_type_),
                    .authorization = std::move(authorization_),
                    .body = std::move(message.body()),
                    .principal = {},
                    .peer = peer_};
    request.connection = response_queue_;
    response = co_await answer(*match.route, std::move(request));
  }
  if (!response) co_return false;
  serving_.metrics.http_request(match.pattern, response->status);
  const bool keep_alive = message.keep_alive() && !serving_.stopping;
  if (!co_await send(*response, method == "HEAD", keep_alive, message.version() == 10)) co_return false;
  ErrorCode ignored;
  if (!keep_alive && (buffer_.size() > 0 || socket_.available(ignored) > 0)) co_await linger();
  co_return keep_alive;
}

asio::awaitable<std::optional<Response>> ServerConnection::answer(const Route& route, Request request) {
  std::optional<ResponseQueue::Answer> answer;
  auto until = std::chrono::steady_clock::now() + serving_.timeouts.answer;
  try {
    if (!serving_.authenticate) {
      request.principal = {.org = kDefaultOrg, .role = Role::operator_, .name = {}};
      if (auto refusal = access_refusal(route, request, request.principal)) co_return std::move(*refusal);
    } else if (route.least_role != Role::none) {
      if (!has_bearer(request.authorization)) co_return unauthorized();
      serving_.authenticate(request, response_queue_->expect_principal());
      answer = co_await next_answer(until);
      if (!answer) co_return std::nullopt;
      if (auto* failed = std::get_if<Response>(&*answer)) co_return std::move(*failed);
      auto& principal = std::get<std::optional<Principal>>(*answer);
      if (auto refusal = access_refusal(route, request, principal)) co_return std::move(*refusal);
      request.principal = std::move(*principal);
    }
    if (route.extra_time) until += route.extra_time(request);
    route.handle(std::move(request), response_queue_->expect_response());
  } catch (const std::exception& error) {
    serving_.log.error("http.route_failed", {{"route", route.path}, {"error", error.what()}});
    co_return error_response(500, "internal_error", "the request failed; the log says why");
  } catch (...) {
    serving_.log.error("http.route_failed", {{"route", route.path}, {"error", "not a std::exception"}});
    co_return error_response(500, "internal_error", "the request failed");
  }
  answer = co_await next_answer(until);
  if (!answer) co_return std::nullopt;
  co_return std::move(std::get<Response>(*answer));
}

// None when the connection was aborted meanwhile; 503 when nobody has answered by then, whatever hangs.
asio::awaitable<std::optional<ResponseQueue::Answer>> ServerConnection::next_answer(Time until) {
  allow_forever();
  for (;;) {
    if (auto answer = response_queue_->take()) co_return answer;
    if (aborted_) co_return std::nullopt;
    if (std::chrono::steady_clock::now() >= until) {
      response_queue_->close();
      co_return too_late();
    }
    answered_.expires_at(until);
    co_await answered_.async_wait(kWait);
  }
}

asio::awaitable<bool> ServerConnection::send(const Response& response, bool to_head_request, bool keep_alive, bool http_1_0) {
  const auto head = response_head(response, to_head_request, keep_alive, http_1_0);
  co_return co_await write(head.bytes, head.with_body ? std::string_view(response.body) : std::string_view{});
}

asio::awaitable<bool> ServerConnection::write(std::string_view head, std::string_view body) {
  ErrorCode error;
  const std::array<asio::const_buffer, 2> whole{asio::buffer(head), asio::buffer(body)};
  std::size_t done = socket_.write_some(whole, error);  // most answers fit into the socket's buffer at once
  if (error && error != asio::error::would_block) co_return false;
  if (done == head.size() + body.size()) co_return true;
  std::array<std::string_view, 2> parts{head, body};
  for (auto& part : parts) {
    const auto skipped = std::min(done, part.size());
    part.remove_prefix(skipped);
    done -= skipped;
    while (!part.empty()) {
      const auto piece = part.substr(0, kWritePiece);
      allow(serving_.timeouts.request_read);
      const auto [failed, written] = co_await asio::async_write(socket_, asio::buffer(piece), kWait);
      if (failed) co_return false;
      part.remove_prefix(written);
    }
  }
  co_return true;
}

// Says that no more will come, and takes in what is still under way: closing over unread bytes would reset the connection
// before the client has read its answer.
asio::awaitable<void> ServerConnection::linger() {
  ErrorCode ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  allow(std::min(kDrainTime, serving_.timeouts.request_read));
  std::array<char, 4096> waste;
  for (std::size_t drained = 0; drained < kDrainBytes;) {
    const auto [error, size] = co_await socket_.async_read_some(asio::buffer(waste), kWait);
    if (error) co_return;
    drained += size;
  }
}

}  // namespace waybill::http
