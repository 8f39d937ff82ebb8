// Loopback sockets for the tests' own client and server: bytes in, bytes out, with a time limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace waybill::testing {

// Owns a connected socket. One thread at a time.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  // To 127.0.0.1. Throws if nobody listens there.
  static Socket connect(std::uint16_t port);

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  bool send(std::string_view bytes);  // false: the other side is gone
  // What is there, at least one byte; "" when the other side has closed; none when `bound` passed or the connection broke.
  std::optional<std::string> receive(std::chrono::milliseconds bound);
  void close();
  void reset();  // closes with RST instead of FIN

 private:
  int fd_ = -1;
};

// Value of a header among raw lines, by its name in any case; none if it is absent.
std::optional<std::string> header_value(std::string_view head, std::string_view name);

}  // namespace waybill::testing
