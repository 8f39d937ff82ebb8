// A terminal of a test's own.
#pragma once

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace waybill::testing {

// What the body, which may exec, writes there. It runs in a child process whose standard streams are the terminal.
inline std::string shown_on_terminal(const std::function<void()>& body, const std::map<std::string, std::string>& environment) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child < 0) throw std::runtime_error("no terminal");
  if (child == 0) {
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    body();
    std::fflush(nullptr);
    ::_exit(0);
  }
  std::string shown;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = ::read(terminal, buffer.data(), buffer.size())) > 0;)  // an error once the child has ended
    shown.append(buffer.data(), static_cast<std::size_t>(got));
  ::close(terminal);
  ::waitpid(child, nullptr, 0);
  return shown;
}

}  // namespace waybill::testing
