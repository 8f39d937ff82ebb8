// Accept, read, count, answer; with a delay, what is to be answered waits in a line.
#include "bench/receiver.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "bench/http_framing.h"

namespace waybill::bench {
namespace {

constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
constexpr std::string_view kRefusal = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n";
constexpr std::string_view kSignature = "\r\nwebhook-signature: v1,";

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("receiver: ") + what + ": " + std::strerror(errno));
}

void watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
}

}  // namespace

Receiver::Receiver(std::chrono::milliseconds delay, std::uint16_t port, std::uint64_t refuse_each)
    : delay_(delay), refuse_each_(refuse_each) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // connections of a former receiver may linger there
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof address;
  if (listener_ < 0 || ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 16384) != 0 || ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    fail("listen");
  port_ = ntohs(address.sin_port);
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  watch(epoll_, listener_);
  watch(epoll_, wake_);
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
  ::pthread_getcpuclockid(thread_.native_handle(), &cpu_clock_);
}

Receiver::~Receiver() {
  thread_.request_stop();
  static_cast<void>(::eventfd_write(wake_, 1));
  thread_.join();
  for (const auto& [fd, connection] : connections_) ::close(fd);
  for (const int fd : {listener_, epoll_, wake_}) ::close(fd);
}

SteadyTime Receiver::last_arrival() const {
  return SteadyTime(SteadyTime::duration(last_arrival_.load(std::memory_order_relaxed)));
}

double Receiver::cpu_seconds() const {
  timespec used{};
  ::clock_gettime(cpu_clock_, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

void Receiver::run(std::stop_token stop) {
  std::array<epoll_event, 256> events;
  while (!stop.stop_requested()) {
    const int count = ::epoll_wait(epoll_, events.data(), events.size(), until_due_ms());
    const auto now = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == listener_) {
        accept_all();
      } else if (fd != wake_ && !serve(fd, connections_.at(fd), now)) {
        connections_.erase(fd);
        ::close(fd);
      }
    }
    answer_due();
  }
}

void Receiver::accept_all() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connections_[fd].id = ++last_id_;
    watch(epoll_, fd);
  }
}

bool Receiver::serve(int fd, Connection& connection, SteadyTime now) {
  char buffer[65536];
  const auto got = ::recv(fd, buffer, sizeof buffer, 0);
  if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
  if (connection.unread.empty())
    connection.since = now;
  else
    connection.unread.append(buffer, static_cast<std::size_t>(got));
  std::string_view bytes =
      connection.unread.empty() ? std::string_view(buffer, static_cast<std::size_t>(got)) : connection.unread;

  while (!bytes.empty()) {
    const auto size = message_size(bytes);
    if (!size || *size > bytes.size()) break;
    if (bytes.substr(0, *size).find(kSignature) == std::string_view::npos)
      unsigned_requests_.fetch_add(1, std::memory_order_relaxed);
    const bool refused = !count_in(connection.since);
    bytes.remove_prefix(*size);
    connection.since = now;
    if (delay_.count() > 0)
      due_.push_back({std::chrono::steady_clock::now() + delay_, fd, connection.id, refused});
    else if (!answer(fd, refused))
      return false;
  }
  connection.unread = std::string(bytes);
  return true;
}

bool Receiver::count_in(SteadyTime since) {
  last_arrival_.store(since.time_since_epoch().count(), std::memory_order_relaxed);
  if (refuse_each_ > 0 && (requests() + refused() + 1) % refuse_each_ == 0) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  requests_.fetch_add(1, std::memory_order_release);
  return true;
}

bool Receiver::answer(int fd, bool refused) {
  const auto text = refused ? kRefusal : kAnswer;
  return ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

int Receiver::until_due_ms() const {
  if (due_.empty()) return -1;
  const auto left = due_.front().at - std::chrono::steady_clock::now();
  return std::max(0, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count()));
}

void Receiver::answer_due() {
  if (due_.size() > most_open_.load(std::memory_order_relaxed)) most_open_.store(due_.size(), std::memory_order_relaxed);
  for (const auto now = std::chrono::steady_clock::now(); !due_.empty() && due_.front().at <= now; due_.pop_front()) {
    const auto connection = connections_.find(due_.front().fd);
    if (connection == connections_.end() || connection->second.id != due_.front().id ||
        answer(due_.front().fd, due_.front().refused))
      continue;
    ::close(connection->first);
    connections_.erase(connection);
  }
}

}  // namespace waybill::bench
