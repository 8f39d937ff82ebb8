// A service manager as this process sees one: the environment, and a socket that hears what is said.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/owned_descriptor.h"

namespace waybill {

// One at a time.
class FakeManager {
 public:
  FakeManager() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "waybill-test-" + std::to_string(getpid());
    std::memcpy(address.sun_path + 1, name.data(), name.size());  // abstract: nothing is left behind
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), length), 0) << std::strerror(errno);
    setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  }
  ~FakeManager() {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  }

  void set_period(std::chrono::microseconds period) {
    setenv("WATCHDOG_USEC", std::to_string(period.count()).c_str(), 1);
    setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  }

  // Waits for a message that has this line.
  bool hears(const std::string& line) {
    for (;;) {
      pollfd one{socket_.get(), POLLIN, 0};
      if (poll(&one, 1, 60'000) != 1) return false;
      char bytes[4096];
      const auto size = recv(socket_.get(), bytes, sizeof bytes, 0);
      if (size <= 0) return false;
      const std::string message = "\n" + std::string(bytes, static_cast<std::size_t>(size)) + "\n";
      if (message.find("\n" + line + "\n") != std::string::npos) return true;
    }
  }

 private:
  const OwnedDescriptor socket_;
};

}  // namespace waybill
