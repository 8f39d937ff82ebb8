// Requests as a stranger's bytes: however they are cut into pieces, the server sees the same requests. A server that does not can
// be made to see a request that a proxy before it did not.
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "fuzz/fuzz.h"
#include "http/server_connection.h"

namespace waybill::fuzz {
namespace {

namespace asio = boost::asio;

class SilentLog final : public Log {
 public:
  void write(Level, std::string_view, std::span<const Field>) override {}
};

std::vector<std::string> requests;  // as the routes saw them

void see(http::Request request, http::Reply reply) {
  std::string text = request.method + "|" + request.path + "|" + request.query + "|" + request.content_type + "|" +
                     request.authorization + "|" + request.body;
  for (const auto& [name, value] : request.parameters) text += "|" + name + "=" + value;
  requests.push_back(std::move(text));
  reply({.body = "{}", .headers = {}});
}

http::Serving& serving() {
  static SilentLog log;
  static Metrics metrics;
  static http::Serving kServing{
      .router = http::Router(
          {{"GET", "/", http::Role::none, see}, {"POST", "/", http::Role::none, see}, {"GET", "/{id}", http::Role::none, see}}),
      .authenticate = nullptr,
      .limits = {.body_bytes = 512, .header_bytes = 512},
      .timeouts = {},
      .allowed_hosts = {},
      .trusted_proxies = {},
      .log = log,
      .metrics = metrics,
      .peers = http::Peers({.bytes = 1 << 20, .bytes_in_all = 1 << 20})};
  return kServing;
}

asio::awaitable<void> live(std::shared_ptr<http::ServerConnection> connection) { co_await connection->serve(); }

void send(int client, std::string_view bytes) {
  promise(bytes.empty() || ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL) >= -1, "bytes are sent");
}

// What the server makes of the bytes, the first `cut` of them in a piece of their own.
std::vector<std::string> requests_in(std::string_view bytes, std::size_t cut) {
  requests.clear();
  int ends[2];
  promise(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "there are sockets");
  asio::io_context loop(1);
  auto connection = std::make_shared<http::ServerConnection>(http::ServerConnection::Socket(loop, asio::ip::tcp::v4(), ends[0]),
                                                             "127.0.0.1", serving());
  asio::co_spawn(loop, live(std::move(connection)), asio::detached);
  send(ends[1], bytes.substr(0, cut));
  loop.poll();
  send(ends[1], bytes.substr(cut));
  ::shutdown(ends[1], SHUT_WR);
  loop.run();
  ::close(ends[1]);
  return std::move(requests);
}

}  // namespace
}  // namespace waybill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  using namespace waybill::fuzz;
  const auto bytes = text_of(data + 1, size - 1);  // the first byte says where to cut
  const auto whole = requests_in(bytes, 0);
  const auto cut = requests_in(bytes, data[0] * (bytes.size() / 256 + 1) % bytes.size());
  promise(whole == cut, "the same bytes are the same requests");
  return 0;
}
