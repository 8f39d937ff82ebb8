// One epoll loop: an answer that is whole is followed by the next request.
#include "bench/load.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <vector>

#include "bench/host.h"
#include "bench/http_framing.h"
#include "bench/interrupt.h"
#include "support/socket.h"

namespace waybill::bench {
namespace {

constexpr std::size_t kAnswerShown = 1000;

struct Client {
  testing::Socket socket;
  std::string unread;
};

class Clients {
 public:
  Clients(std::uint16_t port, int connections, const Load& load) : load_(load), clients_(static_cast<std::size_t>(connections)) {
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      clients_[i].socket = testing::Socket::connect(port);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, clients_[i].socket.fd(), &event);
    }
  }
  ~Clients() { ::close(epoll_); }

  LoadResult run(const LoadEnd& end) {
    const auto from = std::chrono::steady_clock::now();
    for (auto& client : clients_)
      if (sent_ < end.requests) send_next(client);
    std::array<epoll_event, 64> events;
    while (open_ > 0) {
      check_interrupted();
      const int count = ::epoll_wait(epoll_, events.data(), events.size(), 30'000);
      if (count == 0) throw std::runtime_error("the host has not answered for 30 s");
      const bool in_time = std::chrono::steady_clock::now() - from < end.time;
      for (int i = 0; i < count; ++i) {
        Client& client = clients_[events[static_cast<std::size_t>(i)].data.u64];
        if (!take_answer(client)) continue;
        ++acknowledged_;
        --open_;
        if (in_time && sent_ < end.requests) send_next(client);
      }
    }
    return {acknowledged_, std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count()};
  }

 private:
  void send_next(Client& client) {
    const auto body = load_.body(++sent_);
    const auto request =
        "POST " + load_.path +
        " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body;
    if (!client.socket.send(request)) throw std::runtime_error("the host closed a connection");
    ++open_;
  }

  // True when the whole answer is there.
  bool take_answer(Client& client) const {
    std::array<char, 65536> buffer;
    const auto got = ::recv(client.socket.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) throw std::runtime_error("the host closed a connection");
    client.unread.append(buffer.data(), static_cast<std::size_t>(got));
    const auto size = message_size(client.unread);
    if (!size || *size > client.unread.size()) return false;
    if (!load_.good(std::string_view(client.unread).substr(0, *size)))
      throw std::runtime_error("an intent was refused: " + client.unread.substr(0, kAnswerShown));
    client.unread.erase(0, *size);
    return true;
  }

  const Load& load_;
  std::vector<Client> clients_;
  const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  std::uint64_t sent_ = 0, open_ = 0, acknowledged_ = 0;
};

bool is_2xx(std::string_view answer) { return answer.starts_with("HTTP/1.1 2"); }

std::uint64_t occurrences(std::string_view text, std::string_view word) {
  std::uint64_t count = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size())) ++count;
  return count;
}

}  // namespace

LoadResult run_load(std::uint16_t port, int connections, const Load& load, const LoadEnd& end) {
  return Clients(port, connections, load).run(end);
}

Load single_intents(std::size_t body_bytes) {
  return {"/v1/intents", [=](std::uint64_t number) { return intent("load-" + std::to_string(number), body_bytes); }, &is_2xx};
}

Load batches_of_intents(std::uint64_t size, std::size_t body_bytes) {
  const auto body = [=](std::uint64_t number) {
    std::string items;
    for (std::uint64_t i = 0; i < size; ++i)
      items += (i == 0 ? "[" : ",") + intent("bulk-" + std::to_string((number - 1) * size + i), body_bytes);
    return items + "]";
  };
  const auto good = [=](std::string_view answer) {
    return is_2xx(answer) && occurrences(answer, R"("status":200)") == size;  // an intent's own status is a word
  };
  return {"/v1/intents:batch", body, good};
}

std::string intent(const std::string& id, std::size_t body_bytes, const char* target) {
  return R"({"intentId":")" + id + R"(","submissionTarget":")" + target + R"(","payload":{"text":")" +
         std::string(body_bytes, 'x') + R"("}})";
}

}  // namespace waybill::bench
