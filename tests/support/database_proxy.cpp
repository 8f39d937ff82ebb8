// One thread that polls all sockets; commands change its state under a lock and wake it.
#include "support/database_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace waybill::testing {
namespace {

constexpr std::size_t kMaxHeld = 1 << 20;  // in one direction; then the sender has to wait, as on a real network
constexpr int kRetry = 20;                 // ms between two looks for a server that takes no connection now

void without_delay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Whatever can be read now; false at the end of the stream.
bool read_some(const Socket& socket, std::string& into) {
  char bytes[65536];
  const auto got = ::recv(socket.fd(), bytes, sizeof bytes, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) return false;
  into.append(bytes, static_cast<std::size_t>(got));
  return true;
}

// Whatever can be written now; false when the other side is gone.
bool write_some(const Socket& socket, std::string& from) {
  while (!from.empty()) {
    const auto sent = ::send(socket.fd(), from.data(), from.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (sent <= 0) return false;
    from.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

std::size_t big_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (const char c : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

// Whether these first bytes of a client hold its startup message. Requests for encryption, of 8 bytes each, come before it.
bool holds_startup(std::string_view bytes) {
  constexpr std::size_t kTlsRequest = 80877103, kGssRequest = 80877104;
  while (bytes.size() >= 8) {
    const auto code = big_endian(bytes.substr(4));
    if (code != kTlsRequest && code != kGssRequest) return bytes.size() >= big_endian(bytes);
    bytes.remove_prefix(8);
  }
  return false;
}

}  // namespace

DatabaseProxy::DatabaseProxy(const std::string& url) {
  const auto host = url.find("?host=");
  if (host == std::string::npos) throw std::runtime_error("a proxy is for a database on a unix socket: " + url);
  base_url_ = url.substr(0, host);
  server_path_ = url.substr(host + 6, url.find('&', host) - host - 6) + "/.s.PGSQL.5432";

  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) throw std::runtime_error("socketpair");
  wake_read_ = Socket(pair[0]);
  wake_write_ = Socket(pair[1]);
  listener_ = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener_.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_.fd(), 512) != 0 || ::getsockname(listener_.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error(std::string("the proxy cannot listen: ") + std::strerror(errno));
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

DatabaseProxy::~DatabaseProxy() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake();
  }
  thread_.join();
}

std::string DatabaseProxy::url() const {
  auto url = base_url_;  // postgresql://ROLE@/DATABASE
  return url.replace(url.find("@/"), 2, "@127.0.0.1:" + std::to_string(port_) + "/");
}

void DatabaseProxy::set(Flow flow, const std::string& of) {
  const std::lock_guard lock(mutex_);
  std::erase_if(flows_, [&](const auto& rule) { return rule.first == of; });
  flows_.emplace_back(of, flow);
  wake();
}

void DatabaseProxy::refuse(bool all_new_connections) {
  const std::lock_guard lock(mutex_);
  refusing_ = all_new_connections;
  wake();
}

std::size_t DatabaseProxy::cut(const std::string& of, Backend backend) {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (auto& session : sessions_) {
    if (!session.client.is_open() || session.startup.find(of) == std::string::npos) continue;
    cut(session, backend);
    ++count;
  }
  wake();
  return count;
}

void DatabaseProxy::cut_at(const std::string& text, Moment moment, const std::string& of, Backend backend) {
  const std::lock_guard lock(mutex_);
  traps_.push_back({text, moment, of, backend});
  wake();
}

std::size_t DatabaseProxy::end_backends() {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (auto& session : sessions_) {
    if (session.client.is_open() || !session.server.is_open()) continue;
    session.server.close();
    ++count;
  }
  wake();
  return count;
}

std::size_t DatabaseProxy::open(const std::string& of) {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(sessions_.begin(), sessions_.end(), [&](const Session& session) {
    return session.client.is_open() && session.startup.find(of) != std::string::npos;
  }));
}

std::size_t DatabaseProxy::cuts() {
  const std::lock_guard lock(mutex_);
  return cuts_;
}

void DatabaseProxy::wake() { static_cast<void>(wake_write_.send("!")); }

void DatabaseProxy::run() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    wait_and_move();
  }
}

// False when there is no server; a server that is too busy to take it is asked again later.
bool DatabaseProxy::connect(Session& session) {
  Socket made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, server_path_.c_str(), sizeof address.sun_path - 1);
  if (::connect(made.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return errno == EAGAIN;
  session.server = std::move(made);
  return true;
}

DatabaseProxy::Flow DatabaseProxy::flow_of(const Session& session) const {
  Flow flow = Flow::open;
  for (const auto& [of, rule] : flows_)
    if (session.startup.find(of) != std::string::npos) flow = rule;
  return flow;
}

void DatabaseProxy::cut(Session& session, Backend backend) {
  session.client.reset();
  session.to_client.clear();
  if (backend == Backend::lives && session.server.is_open() && !session.server_ended) return;
  session.to_server.clear();
  session.server.close();
}

void DatabaseProxy::read_client(Session& session) {
  std::string bytes;
  if (!read_some(session.client, bytes)) session.client_ended = true;
  if (!holds_startup(session.startup)) session.startup += bytes;
  for (auto at = traps_.begin(); at != traps_.end() && !session.caught; ++at) {
    const auto kept = std::min(session.tail.size(), at->text.size() - 1);
    const auto looked_at = session.tail.substr(session.tail.size() - kept) + bytes;
    if (looked_at.find(at->text) == std::string::npos || session.startup.find(at->of) == std::string::npos) continue;
    session.caught = true;
    session.trap = *at;
    traps_.erase(at);
    ++cuts_;
    if (session.trap.moment == Moment::before) return cut(session, session.trap.backend);
    break;
  }
  session.tail += bytes;
  session.tail.erase(0, session.tail.size() - std::min<std::size_t>(session.tail.size(), 64));
  session.to_server += bytes;
}

void DatabaseProxy::read_server(Session& session) {
  std::string bytes;
  if (!read_some(session.server, bytes)) session.server_ended = true;
  if (!session.client.is_open()) return;  // nobody is there to be told
  if (session.caught && session.trap.moment == Moment::answered && !bytes.empty() && session.to_server.empty())
    return cut(session, session.trap.backend);
  session.to_client += bytes;
}

void DatabaseProxy::write(Session& session) {
  if (session.server.is_open() && !write_some(session.server, session.to_server)) session.server_ended = true;
  if (session.caught && session.trap.moment == Moment::sent && session.to_server.empty() && session.client.is_open())
    return cut(session, session.trap.backend);
  if (session.client.is_open() && flow_of(session) == Flow::open && !write_some(session.client, session.to_client))
    session.client_ended = true;
}

bool DatabaseProxy::is_over(const Session& session) const {
  if (!session.client.is_open()) return !session.server.is_open() || session.server_ended;
  if (session.server_ended) return session.client_ended || session.to_client.empty();
  return session.client_ended && session.to_server.empty();  // what a client sent before its end still arrives
}

void DatabaseProxy::wait_and_move() {
  std::vector<pollfd> polled{{wake_read_.fd(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}};
  std::vector<Session*> order;
  bool connecting = false;
  {
    const std::lock_guard lock(mutex_);
    for (auto& session : sessions_) {
      const Flow flow = flow_of(session);
      const bool is_orphan = !session.client.is_open();
      if (flow != Flow::stalled && !is_orphan && !session.server.is_open() && !session.client_ended) {
        if (!connect(session)) session.server_ended = true;
        connecting |= !session.server.is_open() && !session.server_ended;
      }
      // A descriptor below zero is passed over, so that a stalled connection is not even noticed to have ended.
      pollfd client{-1, 0, 0}, server{-1, 0, 0};
      if (flow != Flow::stalled && !is_orphan && !session.client_ended) {
        client = {session.client.fd(), 0, 0};
        if (session.to_server.size() < kMaxHeld) client.events |= POLLIN;
        if (flow == Flow::open && !session.to_client.empty()) client.events |= POLLOUT;
      }
      if ((flow != Flow::stalled || is_orphan) && session.server.is_open() && !session.server_ended) {
        server = {session.server.fd(), 0, 0};
        if ((flow == Flow::open || is_orphan) && session.to_client.size() < kMaxHeld) server.events |= POLLIN;
        if (!session.to_server.empty()) server.events |= POLLOUT;
        if (server.events == 0) server.fd = -1;  // mute: that the server ended is kept back as well
      }
      polled.push_back(client);
      polled.push_back(server);
      order.push_back(&session);
    }
  }
  ::poll(polled.data(), polled.size(), connecting ? kRetry : -1);

  const std::lock_guard lock(mutex_);
  if (polled[0].revents != 0) {
    std::string ignored;
    read_some(wake_read_, ignored);
    return;  // what is allowed may have changed since
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    Session& session = *order[i];
    const bool is_orphan = !session.client.is_open();
    if (flow_of(session) == Flow::stalled && !is_orphan) continue;
    const auto& client = polled[2 + 2 * i];
    const auto& server = polled[3 + 2 * i];
    if (!is_orphan && client.revents & (POLLIN | POLLHUP | POLLERR)) read_client(session);
    if (session.server.is_open() && server.revents & (POLLIN | POLLHUP | POLLERR)) read_server(session);
    write(session);
  }
  std::erase_if(sessions_, [this](const Session& session) { return is_over(session); });
  if (polled[1].revents == 0) return;
  for (;;) {
    const int fd = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    without_delay(fd);
    Session fresh;
    fresh.client = Socket(fd);
    if (refusing_)
      fresh.client.reset();
    else
      sessions_.push_back(std::move(fresh));
  }
}

}  // namespace waybill::testing
