// A plain socket that says exactly the bytes it is told, and waits at most a while for what comes back.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace waybill::http::stories {

inline constexpr int kPatienceMs = 20'000;

struct Answer {
  int status = 0;                              // 0: the connection ended before a whole answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  // The code of an error answer.
  std::string code() const {
    const auto begin = body.find("\"code\":\"");
    return begin == std::string::npos ? "" : body.substr(begin + 8, body.find('"', begin + 8) - begin - 8);
  }
};

class Client {
 public:
  explicit Client(std::uint16_t port, int receive_buffer = 0, const char* from = nullptr)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (from) {
      ::inet_pton(AF_INET, from, &address.sin_addr);
      ::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    }
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  Client(Client&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_), got_(std::move(other.got_)) {}
  Client& operator=(Client&&) = delete;
  ~Client() { close(); }

  bool connected() const { return connected_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  void finish_sending() { ::shutdown(fd_, SHUT_WR); }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  Answer exchange(std::string_view request) {
    send(request);
    return receive();
  }

  Answer receive(bool to_head_request = false) {
    Answer answer;
    std::size_t end;
    while ((end = got_.find("\r\n\r\n")) == std::string::npos)
      if (!more()) return answer;
    const auto head = got_.substr(0, end + 2);
    std::size_t line = head.find("\r\n") + 2;
    while (line < head.size()) {
      const auto stop = head.find("\r\n", line);
      const auto colon = head.find(": ", line);
      auto name = head.substr(line, colon - line);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      answer.headers[name] = head.substr(colon + 2, stop - colon - 2);
      line = stop + 2;
    }
    got_.erase(0, end + 4);
    const auto length = answer.headers.find("content-length");
    const std::size_t size = to_head_request || length == answer.headers.end() ? 0 : std::stoul(length->second);
    while (got_.size() < size)
      if (!more()) return answer;
    answer.body = got_.substr(0, size);
    got_.erase(0, size);
    answer.status = std::stoi(head.substr(9, 3));
    return answer;
  }

  // All that comes until the other side closes or resets; none if it does neither.
  std::optional<std::string> until_close() {
    while (more()) {
    }
    if (!ended_) return std::nullopt;
    return std::exchange(got_, {});
  }
  bool was_reset() const { return reset_; }

 private:
  bool more() {
    pollfd waiting{fd_, POLLIN, 0};
    if (::poll(&waiting, 1, kPatienceMs) <= 0) return false;
    char bytes[16384];
    const auto size = ::recv(fd_, bytes, sizeof bytes, 0);
    if (size > 0) {
      got_.append(bytes, static_cast<std::size_t>(size));
      return true;
    }
    ended_ = true;
    reset_ = size < 0;
    return false;
  }

  int fd_;
  bool connected_ = false;
  bool ended_ = false;
  bool reset_ = false;
  std::string got_;
};

}  // namespace waybill::http::stories
