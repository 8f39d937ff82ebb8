// One HTTP connection: reads requests one after the other, has each answered, and keeps every limit. Only for server.cpp.
#pragma once

// g++ takes the coroutine frames of Asio for a mismatch of new and delete once both are inlined (GCC bug 109224).
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "http/head_scanner.h"
#include "http/http.h"
#include "http/peers.h"
#include "http/response_queue.h"
#include "http/router.h"
#include "http/tls.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill::http {

// Errors are results, not exceptions.
inline constexpr auto kWait = boost::asio::as_tuple(boost::asio::use_awaitable);

inline constexpr Millis kLastRequest{1'000};  // to send it, for a connection that is new when the server stops

// What all connections of a server share.
struct Serving {
  Router router;
  Authenticate authenticate;
  Limits limits;
  Timeouts timeouts;
  std::vector<std::string> allowed_hosts;
  std::vector<AddressRange> trusted_proxies;
  Log& log;
  Metrics& metrics;
  std::unique_ptr<TlsFiles> tls = nullptr;  // null: plain
  Peers peers{{}};
  std::atomic<bool> stopping = false;
};

// Belongs to the one thread of its event loop.
class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Time = std::chrono::steady_clock::time_point;

  ServerConnection(Socket socket, std::string address, Serving& serving);

  boost::asio::awaitable<void> serve();  // until either side is through
  // One connection too many: 503, or 429 if it is one too many of its address.
  boost::asio::awaitable<void> turn_away();

  void keep_deadline(Time now);  // called every now and then: ends what has taken too long, or what nobody waits for any more
  void wind_down();  // the server stops: closes it between two requests; one without any request so far has a moment for it
  void abort();

  bool is_beyond_its_share() const;  // more connections of this address than one may have

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using ErrorCode = boost::system::error_code;

  struct ReceiveResult {
    bool gone = false;                // nothing more will come, and nobody waits for an answer
    std::optional<Response> refusal;  // an answer to what is no request
    bool has_waited = false;          // the body was not there with the head
  };
  boost::asio::awaitable<bool> exchange();  // one request and its answer; false when the connection is to be closed
  boost::asio::awaitable<std::optional<Response>> answer(const Route& route, Request request, ReceiveResult& received);
  boost::asio::awaitable<std::optional<Response>> admit(const Route& route, Request& request, Time until);
  boost::asio::awaitable<std::optional<ResponseQueue::Answer>> next_answer(Time until);
  Response unanswered(const Route& route);

  // In server_receive.cpp.
  boost::asio::awaitable<ReceiveResult> receive_head();
  boost::asio::awaitable<ReceiveResult> receive_body();
  std::optional<Response> read_head(bool& is_complete);
  std::optional<Response> check_head();
  std::optional<Response> parse_body();
  std::optional<Response> hold(std::size_t bytes);
  std::optional<Response> refusal_of(ErrorCode error) const;
  void check_trailers(boost::beast::string_view extensions, ErrorCode& error) const;
  bool skip_empty_lines();
  bool pass_over_body();
  Request request_of(Router::Match& match);

  // In server_transport.cpp.
  boost::asio::awaitable<bool> open_tls();
  bool hold_handshake();
  void note_failed_handshake(std::string_view why);
  boost::asio::awaitable<ErrorCode> wait_for(TlsSession::Want want);
  boost::asio::awaitable<ErrorCode> read_more(std::size_t size);
  boost::asio::awaitable<bool> send(const Response& response, bool to_head_request, bool keep_alive, bool http_1_0);
  boost::asio::awaitable<bool> write(std::string_view head, std::string_view body);
  boost::asio::awaitable<bool> write_tls(std::string_view bytes);
  boost::asio::awaitable<void> linger();
  void close();
  bool has_more() const;
  bool client_is_outdated() const;

  void allow(Millis time);
  void allow_forever() { deadline_ = Time::max(); }

  Serving& serving_;
  Socket socket_;
  std::optional<TlsSession> tls_;
  const std::string address_;              // that the connection comes from
  const std::shared_ptr<Peer> neighbour_;  // the same, with what it holds
  std::optional<ConnectionPlace> place_;   // none for trusted proxies
  std::shared_ptr<Peer> client_;           // whose share this request uses
  ByteShare share_;
  boost::beast::flat_buffer buffer_;
  HeadScanner scanner_;
  std::optional<Parser> parser_;
  std::size_t body_wire_bytes_ = 0;  // of this request's body, with all that frames it
  std::string good_host_;            // the last Host header that is a host: the next one is most often the same
  std::string host_;                 // from the head, so that no trailer can replace them
  std::optional<std::string> origin_;
  std::string authorization_;
  Trace trace_;
  std::string content_type_;
  std::string content_encoding_;
  std::shared_ptr<ResponseQueue> response_queue_;
  boost::asio::steady_timer answered_;
  Time deadline_ = Time::max();
  Time waits_since_ = Time::max();  // for an answer
  bool expired_ = false;            // the deadline ended the last operation
  bool idle_ = false;               // between two requests
  bool is_fresh_ = true;            // before the first one
  bool is_leaving_ = false;         // its client has been told that no request is taken any more
  bool aborted_ = false;
};

}  // namespace waybill::http
