// The client writes all and then waits, so that each run of the server reads the same pieces.
#include "guard/http_exchange.h"

#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "guard/counted.h"
#include "http/server_connection.h"
#include "support/call_builders.h"

namespace waybill::guard {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

std::string requests_with(const std::string& body) {
  const std::string one =
      "POST /v1/intents?waitSeconds=0 HTTP/1.1\r\nHost: waybill.example.org:8080\r\n" +
      std::string("User-Agent: guard/1.0\r\nAccept: */*\r\nContent-Type: application/json\r\nContent-Length: ") +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  std::string all;
  for (int i = 0; i < kExchanges; ++i) all += one;
  return all;
}

// Until all of it has arrived.
void await_bytes(tcp::socket& socket, std::size_t count) {
  std::string seen(count, '\0');
  const auto size = ::recv(socket.native_handle(), seen.data(), count, MSG_PEEK | MSG_WAITALL);
  require(size == static_cast<ssize_t>(count), "all requests at once");
}

int good_answers(tcp::socket& client) {
  std::string answers;
  boost::system::error_code end;
  asio::read(client, asio::dynamic_buffer(answers), end);
  int good = 0;
  for (auto at = answers.find("HTTP/1.1 200 OK\r\n"); at != std::string::npos; at = answers.find("HTTP/1.1 200 OK\r\n", at + 1))
    ++good;
  return good;
}

}  // namespace

int exchange_over_http(const std::string& body) {
  asio::io_context context{1};
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  tcp::socket client(context);
  client.connect(acceptor.local_endpoint());
  tcp::socket accepted = acceptor.accept();
  const std::string requests = requests_with(body);
  asio::write(client, asio::buffer(requests));
  client.shutdown(tcp::socket::shutdown_send);
  await_bytes(accepted, requests.size());

  testing::KeptLog log;
  Metrics metrics;
  // An answer comes later, as it does after a commit.
  const http::RouteFunction handle = [&context](http::Request, http::Reply reply) {
    asio::post(context,
               [reply = std::move(reply)] { reply(http::json_response(200, R"({"intentId":"order-1","status":"pending"})")); });
  };
  http::Serving serving{
      .router = http::Router({{"GET", "/v1/intents/{id}", http::Role::member, handle},
                              http::with_query({"POST", "/v1/intents", http::Role::member, handle}, {"waitSeconds"})}),
      .authenticate = {},
      .limits = {},
      .timeouts = {},
      .allowed_hosts = {"waybill.example.org"},
      .trusted_proxies = {},
      .log = log,
      .metrics = metrics,
      .peers = http::Peers({.bytes = 1 << 20, .bytes_in_all = 1 << 20})};
  const auto connection = std::make_shared<http::ServerConnection>(std::move(accepted), "127.0.0.1", serving);
  asio::co_spawn(context, connection->serve(), asio::detached);
  counted([&] { context.run(); });
  return good_answers(client);
}

}  // namespace waybill::guard
