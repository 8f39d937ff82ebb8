// One HTTP connection: reads requests one after the other, has each answered, and keeps every limit. Only for server.cpp.
#pragma once

// g++ takes the coroutine frames of Asio for a mismatch of new and delete once both are inlined (GCC bug 109224).
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <optional>

#include "config/config.h"
#include "http/http.h"
#include "http/response_queue.h"
#include "http/router.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill::http {

// What all connections of a server share.
struct Serving {
  Router router;
  Authenticate authenticate;
  Limits limits;
  Timeouts timeouts;
  Log& log;
  Metrics& metrics;
  std::atomic<bool> stopping = false;
};

// Belongs to the one thread of its event loop.
class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Time = std::chrono::steady_clock::time_point;

  ServerConnection(Socket socket, Serving& serving);

  boost::asio::awaitable<void> serve();      // until either side is through
  boost::asio::awaitable<void> turn_away();  // one connection too many: 503

  void keep_deadline(Time now);  // called every now and then: ends what has taken too long
  void close_if_idle();
  void abort();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using ErrorCode = boost::system::error_code;

  struct ReceiveResult {
    bool gone = false;                // nothing more will come, and nobody waits for an answer
    std::optional<Response> refusal;  // an answer to what is no request
  };
  boost::asio::awaitable<bool> exchange();  // one request and its answer; false when the connection is to be closed
  boost::asio::awaitable<ReceiveResult> receive();
  boost::asio::awaitable<ErrorCode> read_more(std::size_t size);
  std::optional<Response> parse();
  std::optional<Response> check_head();
  std::optional<Response> refusal_of(ErrorCode error) const;
  bool skip_empty_lines();

  boost::asio::awaitable<std::optional<Response>> answer(const Route& route, Request request);
  boost::asio::awaitable<std::optional<ResponseQueue::Answer>> next_answer(Time until);
  boost::asio::awaitable<bool> send(const Response& response, bool to_head_request, bool keep_alive, bool http_1_0);
  boost::asio::awaitable<bool> write(std::string_view head, std::string_view body);
  boost::asio::awaitable<void> linger();

  void close();
  void allow(Millis time);
  void allow_forever() { deadline_ = Time::max(); }

  Serving& serving_;
  Socket socket_;
  std::string peer_;  // its address
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::size_t head_bytes_ = 0;  // of this request's head, as far as parsed
  bool head_done_ = false;
  std::string authorization_;  // from the head, so that no trailer can replace them
  std::string content_type_;
  std::shared_ptr<ResponseQueue> response_queue_;
  boost::asio::steady_timer answered_;
  Time deadline_ = Time::max();
  bool expired_ = false;  // the deadline ended the last operation
  bool idle_ = false;     // between two requests
  bool aborted_ = false;
};

}  // namespace waybill::http
