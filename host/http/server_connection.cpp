// Routes requests of one connection and has them answered.
#include "http/server_connection.h"

#include <boost/asio/post.hpp>

#include "http/access.h"
#include "http/content_check.h"
#include "http/field_value.h"
#include "http/forwarded.h"

namespace waybill::http {
namespace asio = boost::asio;
namespace {

constexpr Millis kUnattended{1'000};  // who hangs up after this long no longer waits; before, it may be done with sending only

Response too_late() {
  auto response = error_response(503, "unavailable", "there was no answer in time; nothing was acknowledged, try again");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

// What is not understood is refused, never ignored: of a filter with a typo, all would be the answer.
std::optional<Response> query_refusal(const Route& route, const Request& request) {
  const auto fault = request.query_fault(route.query);
  if (fault.empty()) return std::nullopt;
  return invalid_request(fault);
}

}  // namespace

ServerConnection::ServerConnection(Socket socket, std::string address, Serving& serving)
    : serving_(serving),
      socket_(std::move(socket)),
      address_(std::move(address)),
      neighbour_(serving.peers.find(address_)),
      client_(neighbour_),
      share_(serving.peers),
      buffer_(serving.limits.header_bytes + (64 << 10)),
      response_queue_(std::make_shared<ResponseQueue>(
          [this] {  // runs only while serve() waits, so `this` is there
            asio::post(socket_.get_executor(), [self = shared_from_this()] { self->answered_.cancel(); });
          },
          socket_.native_handle())),
      answered_(socket_.get_executor()) {
  if (!is_trusted(address_, serving.trusted_proxies)) place_.emplace(neighbour_);
  ErrorCode ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

bool ServerConnection::is_beyond_its_share() const {
  return place_ && place_->connections() > serving_.limits.http_connections_per_address;
}

void ServerConnection::allow(Millis time) {
  deadline_ = std::chrono::steady_clock::now() + time;
  expired_ = false;
}

void ServerConnection::keep_deadline(Time now) {
  if (waits_since_ != Time::max() && now - waits_since_ > kUnattended && response_queue_->is_gone()) return abort();
  if (idle_ && client_is_outdated()) return close();
  if (now < deadline_) return;
  allow_forever();
  expired_ = true;
  ErrorCode ignored;
  socket_.cancel(ignored);
}

// A connection does not outlive the certificate that it was opened with.
bool ServerConnection::client_is_outdated() const { return tls_ && tls_->client_is_outdated(*serving_.tls); }

// What has arrived already is answered: its client saw an open connection.
void ServerConnection::wind_down() {
  if (!idle_) return;
  ErrorCode ignored;
  deadline_ = std::min(deadline_, std::chrono::steady_clock::now() + kLastRequest);
  if (is_fresh_ || socket_.available(ignored) > 0) return;
  // Its client hears that it ends. A request that is on its way right now meets no reset: nobody has seen it, and it is sent
  // again.
  is_leaving_ = true;
  if (tls_) tls_->say_goodbye();
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void ServerConnection::abort() {
  aborted_ = true;
  close();
  answered_.cancel();
}

asio::awaitable<void> ServerConnection::serve() {
  bool is_open = true;  // GCC 12 makes broken code of a condition or loop over co_await in a coroutine without locals
  if (serving_.tls) is_open = co_await open_tls();
  while (is_open) is_open = co_await exchange();
  response_queue_->close();
  close();
}

asio::awaitable<void> ServerConnection::turn_away() {
  auto response = is_beyond_its_share()
                      ? error_response(429, "too_many_connections", "this address has as many connections as it may; try again")
                      : error_response(503, "too_many_connections", "the server has as many connections as it may; try again");
  response.headers.emplace_back("Retry-After", "1");
  if (!serving_.tls) {  // a handshake is what this is to save
    if (co_await send(response, false, false, false)) co_await linger();
  }
  close();
}

asio::awaitable<bool> ServerConnection::exchange() {
  ReceiveResult received = co_await receive_head();
  if (received.gone || client_is_outdated()) co_return false;  // nothing of it was done: the client may connect anew
  if (received.refusal) {
    serving_.metrics.http_request("unmatched", received.refusal->status);
    if (co_await send(*received.refusal, false, false, false)) co_await linger();
    co_return false;
  }

  const auto& head = parser_->get();
  const std::string_view method(head.method_string().data(), head.method_string().size());
  const std::string_view target(head.target().data(), head.target().size());
  auto match = serving_.router.find(method, target);
  std::optional<Response> response = std::move(match.refusal);
  if (!response) {
    response = co_await answer(*match.route, request_of(match), received);
    if (received.gone || !response) co_return false;
  }
  serving_.metrics.http_request(match.pattern, response->status);
  const bool keep_alive = !received.refusal && pass_over_body() && head.keep_alive() && !serving_.stopping;
  if (!co_await send(*response, method == "HEAD", keep_alive, head.version() == 10)) co_return false;
  if (!keep_alive && has_more()) co_await linger();
  co_return keep_alive;
}

// The answer of the route, or why the request does not get there: who may not send it is told so before its body is read. None
// when nobody waits for an answer any more. `received`: how the body came in.
asio::awaitable<std::optional<Response>> ServerConnection::answer(const Route& route, Request request, ReceiveResult& received) {
  const auto began = std::chrono::steady_clock::now();
  try {
    if (auto refusal = origin_refusal(route, {host_, origin_}, serving_.authenticate != nullptr, serving_.allowed_hosts))
      co_return refusal;
    if (auto refusal = co_await admit(route, request, began + serving_.timeouts.answer)) co_return refusal;
    if (aborted_) co_return std::nullopt;
    if (auto refusal = query_refusal(route, request)) co_return refusal;
    received = co_await receive_body();
    if (received.gone || received.refusal) co_return received.refusal;
    if (received.has_waited) {  // the token may have been revoked meanwhile
      const auto now = std::chrono::steady_clock::now();
      if (auto refusal = co_await admit(route, request, now + serving_.timeouts.answer)) co_return refusal;
      if (aborted_) co_return std::nullopt;
    }
    request.body = std::move(parser_->get().body());
    if (auto refusal = content_refusal(route, request)) co_return refusal;
    const auto extra = route.extra_time ? route.extra_time(request) : Millis{0};
    const auto until = std::chrono::steady_clock::now() + serving_.timeouts.answer + extra;
    route.handle(std::move(request), response_queue_->expect_response());
    auto answer = co_await next_answer(until);
    if (!answer) co_return std::nullopt;
    if (std::holds_alternative<ResponseQueue::Unanswered>(*answer)) co_return unanswered(route);
    co_return std::move(std::get<Response>(*answer));
  } catch (const std::exception& error) {
    serving_.log.error("http.route_failed", {{"route", route.path}, {"error", error.what()}});
    co_return error_response(500, "internal_error", "the request failed; the log says why");
  } catch (...) {
    serving_.log.error("http.route_failed", {{"route", route.path}, {"error", "not a std::exception"}});
    co_return error_response(500, "internal_error", "the request failed");
  }
}

Response ServerConnection::unanswered(const Route& route) {
  serving_.log.error("http.reply_dropped", {{"route", route.path}, {"effect", "its client got 500; this is a bug of the host"}});
  return error_response(500, "internal_error", "the request was left without an answer");
}

// Finds the principal, or the refusal. Neither: admitted, or aborted meanwhile.
asio::awaitable<std::optional<Response>> ServerConnection::admit(const Route& route, Request& request, Time until) {
  if (!serving_.authenticate) {
    request.principal = {.org = kDefaultOrg, .role = Role::operator_, .name = {}};
    co_return access_refusal(route, request, request.principal);
  }
  if (route.least_role == Role::none) co_return std::nullopt;
  if (bearer_token(request.authorization).empty() && request.certificate.empty()) co_return unauthorized();
  serving_.authenticate(request, response_queue_->expect_principal());
  auto answer = co_await next_answer(until);
  if (!answer) co_return std::nullopt;
  if (std::holds_alternative<ResponseQueue::Unanswered>(*answer)) co_return unanswered(route);
  if (auto* failed = std::get_if<Response>(&*answer)) co_return std::move(*failed);
  auto& principal = std::get<std::optional<Principal>>(*answer);
  if (auto refusal = access_refusal(route, request, principal)) co_return refusal;
  request.principal = std::move(*principal);
  co_return std::nullopt;
}

// None when the connection was aborted meanwhile; 503 when nobody has answered by then, whatever hangs.
asio::awaitable<std::optional<ResponseQueue::Answer>> ServerConnection::next_answer(Time until) {
  allow_forever();
  waits_since_ = std::chrono::steady_clock::now();
  for (;;) {
    auto answer = response_queue_->take();
    const bool is_late = !answer && !aborted_ && std::chrono::steady_clock::now() >= until;
    if (answer || aborted_ || is_late) {
      waits_since_ = Time::max();
      if (is_late) {
        response_queue_->close();
        co_return too_late();
      }
      co_return answer;
    }
    answered_.expires_at(until);
    co_await answered_.async_wait(kWait);
  }
}

}  // namespace waybill::http
