// Says to systemd what is so, and takes over its sockets.
#include "service_manager/service_manager.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/utf8.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxStatus = 500;  // bytes

}  // namespace

ServiceManager ServiceManager::of_environment() {
  ServiceManager manager;
  if (const char* socket = std::getenv("NOTIFY_SOCKET"); socket && (*socket == '/' || *socket == '@')) manager.socket_ = socket;
  std::uint64_t period = 0;
  if (sd_watchdog_enabled(1, &period) > 0 && period > 0) manager.watchdog_period_ = std::chrono::microseconds(period);
  unsetenv("NOTIFY_SOCKET");
  return manager;
}

// sd_notify() would read the environment each time.
void ServiceManager::notify(const std::string& message) const {
  sockaddr_un address{};
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const OwnedDescriptor descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  // A manager that does not listen is none of this process's troubles.
  static_cast<void>(sendto(descriptor.get(), message.data(), message.size(), MSG_NOSIGNAL,
                           reinterpret_cast<const sockaddr*>(&address), length));
}

void ServiceManager::ready() const { notify("READY=1"); }
void ServiceManager::stopping(std::chrono::milliseconds at_most) const {
  notify("STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=" + std::to_string(std::chrono::microseconds(at_most).count()));
}
void ServiceManager::status(const std::string& text) const { notify("STATUS=" + clean_text(text, kMaxStatus)); }
void ServiceManager::alive() const { notify("WATCHDOG=1"); }
void ServiceManager::stuck() const { notify("WATCHDOG=trigger"); }

namespace {

Result<void> find_address(InheritedSocket& inherited) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto* const at = reinterpret_cast<sockaddr*>(&address);
  const int socket = inherited.descriptor.get();
  const bool is_listener = sd_is_socket(socket, AF_UNSPEC, SOCK_STREAM, 1) > 0 && getsockname(socket, at, &length) == 0;
  if (!is_listener || (address.ss_family != AF_INET && address.ss_family != AF_INET6))
    return fail(Error::Kind::invalid, "the service manager's socket \"" + inherited.name +
                                          "\" is no listening TCP socket; see ListenStream= of its unit");
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (const int error = getnameinfo(at, length, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
      error != 0)
    return fail(Error::Kind::bug, std::string("getnameinfo: ") + gai_strerror(error));
  inherited.host = host;
  inherited.port = static_cast<std::uint16_t>(std::stoi(port));
  return {};
}

}  // namespace

Result<std::vector<InheritedSocket>> take_inherited_sockets() {
  char** names = nullptr;
  const int count = sd_listen_fds_with_names(1, &names);
  if (count < 0)
    return fail(Error::Kind::invalid, std::string("the service manager's sockets cannot be taken: ") + std::strerror(-count));
  std::vector<InheritedSocket> all;
  for (int i = 0; i < count; ++i) {
    all.push_back({OwnedDescriptor(SD_LISTEN_FDS_START + i), names[i], {}, 0});
    std::free(names[i]);
  }
  std::free(names);
  for (auto& socket : all) TRY(find_address(socket));
  return all;
}

}  // namespace waybill
