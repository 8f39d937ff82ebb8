// A server on a port of its own whose every connection follows a script written in the test: bytes in, bytes out, on threads.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace waybill::testing {

// One connection, for the thread of its script.
class Connection {
 public:
  Connection(int fd, int number) : fd_(fd), number_(number) {}
  int number() const { return number_; }  // 0 for the first that the server accepted
  int fd() const { return fd_; }          // for a script that speaks another protocol

  // One request with its body; "" when the other side has closed, or the server is going away.
  std::string receive() {
    for (;;) {
      if (const auto end = received_.find("\r\n\r\n"); end != std::string::npos) {
        const auto size = end + 4 + content_length(received_.substr(0, end));
        if (received_.size() >= size) {
          auto request = received_.substr(0, size);
          received_.erase(0, size);
          return request;
        }
      }
      char buffer[4096];
      const auto got = ::recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0) return {};
      received_.append(buffer, static_cast<std::size_t>(got));
    }
  }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void answer(int status, std::string_view body = "", std::string_view headers = "") {
    send("HTTP/1.1 " + std::to_string(status) + " X\r\n" + std::string(headers) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
  }
  void hang() {
    while (!receive().empty()) {
    }
  }  // until the other side gives up
  void reset_at_end() {
    const linger now{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }

 private:
  static std::size_t content_length(const std::string& head) {
    const auto at = head.find("Content-Length: ");
    return at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
  }
  int fd_;
  int number_;
  std::string received_;
};

class ScriptedServer {
 public:
  using Script = std::function<void(Connection&)>;

  explicit ScriptedServer(Script script)
      : script_(std::move(script)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, raw, size) != 0 || ::listen(listener_, 1024) != 0 || ::getsockname(listener_, raw, &size) != 0)
      throw std::runtime_error("no listening socket");
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    ::close(listener_);
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (auto& thread : serving_) thread.join();
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url(std::string_view path = "/") const { return "http://127.0.0.1:" + std::to_string(port_) + std::string(path); }
  std::uint16_t port() const { return port_; }
  int connections() const {
    const std::lock_guard lock(mutex_);
    return accepted_;
  }

 private:
  void accept_all() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      serving_.emplace_back([this, fd, number = accepted_++] {
        Connection connection(fd, number);
        script_(connection);
        const std::lock_guard closing(mutex_);
        std::erase(open_, fd);
        ::close(fd);
      });
    }
  }

  Script script_;
  int listener_;
  std::uint16_t port_ = 0;
  std::thread accepting_;
  mutable std::mutex mutex_;
  int accepted_ = 0;
  std::vector<int> open_;
  std::vector<std::thread> serving_;  // touched by the accepting thread only, until it has ended
};

}  // namespace waybill::testing
