// One thread and one session of the server; whoever has begun a transaction has it to the end.
#include "support/transaction_pooler.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <stdexcept>
#include <vector>

namespace waybill::testing {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kSoon{10'000};

std::size_t number_at(const std::string& bytes, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

TransactionPooler::TransactionPooler(const std::string& url) {
  const auto host = url.find("?host=");
  base_url_ = url.substr(0, host);
  server_path_ = url.substr(host + 6) + "/.s.PGSQL.5432";
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) throw std::runtime_error("socketpair");
  stop_read_ = Socket(pair[0]);
  stop_write_ = Socket(pair[1]);
  listener_ = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener_.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_.fd(), 64) != 0 || ::getsockname(listener_.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("the pooler cannot listen");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

TransactionPooler::~TransactionPooler() {
  stop_write_.close();
  thread_.join();
}

std::string TransactionPooler::url() const {
  auto url = base_url_;
  return url.replace(url.find("@/"), 2, "@127.0.0.1:" + std::to_string(port_) + "/");
}

void TransactionPooler::run() {
  for (;;) {
    std::vector<pollfd> polled{{stop_read_.fd(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}};
    for (const auto& client : clients_) polled.push_back({client.fd(), POLLIN, 0});
    ::poll(polled.data(), polled.size(), -1);
    if (polled[0].revents != 0) return;
    std::size_t place = 2;
    for (auto client = clients_.begin(); client != clients_.end(); ++place)
      client = polled[place].revents == 0 || carry_out(*client) ? std::next(client) : clients_.erase(client);
    if (polled[1].revents == 0) continue;
    Socket fresh(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (greet(fresh)) clients_.push_back(std::move(fresh));
  }
}

bool TransactionPooler::greet(Socket& client) {
  constexpr std::size_t kTlsRequest = 80877103, kGssRequest = 80877104;
  std::string startup;
  while (startup.size() < 8 || startup.size() < number_at(startup, 0)) {
    const auto more = client.receive(kSoon);
    if (!more || more->empty()) return false;
    startup += *more;
    if (startup.size() != 8 || (number_at(startup, 4) != kTlsRequest && number_at(startup, 4) != kGssRequest)) continue;
    startup.clear();
    client.send("N");
  }
  if (greeting_.empty()) {
    server_ = Socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, server_path_.c_str(), sizeof address.sun_path - 1);
    if (::connect(server_.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return false;
    server_.send(startup);
    constexpr std::string_view kReady("Z\0\0\0\5I", 6);
    while (!greeting_.ends_with(kReady)) {
      const auto more = server_.receive(kSoon);
      if (!more || more->empty()) return false;
      greeting_ += *more;
    }
  }
  return client.send(greeting_);
}

bool TransactionPooler::carry_out(Socket& client) {
  for (char state = '?'; state != 'I';) {
    if (!wait_for(client, server_)) return false;
    pollfd look[2]{{client.fd(), POLLIN, 0}, {server_.fd(), POLLIN, 0}};
    ::poll(look, 2, 0);
    if (look[0].revents != 0) {
      const auto said = client.receive(kSoon);
      if (!said || said->empty() || said->front() == 'X') return false;
      server_.send(*said);
    }
    if (look[1].revents != 0 && !pass_answers(client, state)) return false;
  }
  return true;
}

// Passes on what is there; `state` is the last that the server told: I is between transactions.
bool TransactionPooler::pass_answers(Socket& client, char& state) {
  const auto more = server_.receive(kSoon);
  if (!more || more->empty()) return false;
  unread_ += *more;
  while (unread_.size() >= 5 && unread_.size() > number_at(unread_, 1)) {
    const auto size = number_at(unread_, 1) + 1;
    if (unread_[0] == 'Z') state = unread_[5];
    client.send(std::string_view(unread_).substr(0, size));
    unread_.erase(0, size);
  }
  return true;
}

bool TransactionPooler::wait_for(const Socket& one, const Socket& other) {
  pollfd look[3]{{stop_read_.fd(), POLLIN, 0}, {one.fd(), POLLIN, 0}, {other.fd(), POLLIN, 0}};
  ::poll(look, 3, -1);
  return look[0].revents == 0;
}

}  // namespace waybill::testing
