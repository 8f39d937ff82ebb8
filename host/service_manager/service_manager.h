// The service manager that started this process, such as systemd: what it is told, and what it passes on. libsystemd is behind
// this.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/owned_descriptor.h"

namespace waybill {

// Messages of the protocol of sd_notify(3). Without a service manager they go nowhere. Safe from any thread.
class ServiceManager {
 public:
  // Takes what the manager said out of the environment, so that no child of this process speaks for it: a private PostgreSQL
  // would. Before any other thread runs.
  static ServiceManager of_environment();

  void ready() const;
  void stopping(std::chrono::milliseconds at_most) const;  // how long the end may take
  void status(const std::string& text) const;              // one line, for `systemctl status`
  void alive() const;                                      // to be said at least every watchdog_period()
  void stuck() const;                                      // do now what the end of that period would do

  // The longest silence that the manager bears; none: it has no watchdog for this process.
  std::optional<std::chrono::microseconds> watchdog_period() const { return watchdog_period_; }
  bool is_there() const { return !socket_.empty(); }

 private:
  void notify(const std::string& message) const;

  std::string socket_;  // a path, or "@" and an abstract name; "": there is no manager
  std::optional<std::chrono::microseconds> watchdog_period_;
};

// A listening socket that the service manager opened and keeps open while this process is started anew.
struct InheritedSocket {
  OwnedDescriptor descriptor;
  std::string name;  // FileDescriptorName= of its unit, "waybill.socket" if that says nothing
  std::string host;  // that it is bound to
  std::uint16_t port = 0;
};
// Takes them over: a second call finds none. Children do not inherit them. An error: one is no listening TCP socket.
Result<std::vector<InheritedSocket>> take_inherited_sockets();

}  // namespace waybill
