// One epoll loop: an answer that is whole is followed by the next request.
#include "bench/load.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "bench/host.h"
#include "bench/http_framing.h"
#include "bench/interrupt.h"
#include "support/socket.h"

namespace waybill::bench {
namespace {

struct Client {
  testing::Socket socket;
  std::string unread;
};

class Load {
 public:
  Load(std::uint16_t port, int connections, int body_bytes, std::string prefix)
      : prefix_(std::move(prefix)), body_bytes_(body_bytes), clients_(static_cast<std::size_t>(connections)) {
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      clients_[i].socket = testing::Socket::connect(port);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, clients_[i].socket.fd(), &event);
    }
  }
  ~Load() { ::close(epoll_); }

  LoadResult run(std::chrono::seconds length) {
    const auto from = std::chrono::steady_clock::now();
    for (auto& client : clients_) send_next(client);
    std::array<epoll_event, 64> events;
    while (open_ > 0) {
      check_interrupted();
      const int count = ::epoll_wait(epoll_, events.data(), events.size(), 30'000);
      if (count == 0) throw std::runtime_error("the host has not answered for 30 s");
      const bool more = std::chrono::steady_clock::now() - from < length;
      for (int i = 0; i < count; ++i) {
        Client& client = clients_[events[static_cast<std::size_t>(i)].data.u64];
        if (!take_answer(client)) continue;
        ++acknowledged_;
        --open_;
        if (more) send_next(client);
      }
    }
    return {acknowledged_, std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count()};
  }

 private:
  void send_next(Client& client) {
    const auto body = intent(prefix_ + std::to_string(++sent_), body_bytes_);
    const auto request = "POST /v1/intents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: " +
                         std::to_string(body.size()) + "\r\n\r\n" + body;
    if (!client.socket.send(request)) throw std::runtime_error("the host closed a connection");
    ++open_;
  }

  // True when the whole answer is there.
  static bool take_answer(Client& client) {
    char buffer[16384];
    const auto got = ::recv(client.socket.fd(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) throw std::runtime_error("the host closed a connection");
    client.unread.append(buffer, static_cast<std::size_t>(got));
    const auto size = message_size(client.unread);
    if (!size || *size > client.unread.size()) return false;
    if (!std::string_view(client.unread).starts_with("HTTP/1.1 2"))
      throw std::runtime_error("an intent was refused: " + client.unread);
    client.unread.erase(0, *size);
    return true;
  }

  const std::string prefix_;
  const int body_bytes_;
  std::vector<Client> clients_;
  const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  std::uint64_t sent_ = 0, open_ = 0, acknowledged_ = 0;
};

}  // namespace

LoadResult run_load(std::uint16_t port, int connections, int seconds, int body_bytes, const std::string& prefix) {
  Load load(port, connections, body_bytes, prefix);
  return load.run(std::chrono::seconds(seconds));
}

std::string intent(const std::string& id, int body_bytes) {
  return R"({"intentId":")" + id + R"(","submissionTarget":")" + kTarget + R"(","payload":{"text":")" +
         std::string(static_cast<std::size_t>(body_bytes), 'x') + R"("}})";
}

}  // namespace waybill::bench
