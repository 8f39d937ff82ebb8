// A network of the test's own.
#include "support/network_namespace.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/temp_folder.h"

namespace waybill::testing {
namespace {

std::string because(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

ifreq request_for(const std::string& interface) {
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  return request;
}

void put_address(ifreq& request, std::uint32_t address) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = address;
  std::memcpy(&request.ifr_addr, &four, sizeof four);
}

bool add_address(int socket, int number, const std::string& written) {
  const auto slash = written.find('/');
  const int prefix = slash == std::string::npos ? 32 : std::stoi(written.substr(slash + 1));
  in_addr address{};
  if (inet_pton(AF_INET, written.substr(0, slash).c_str(), &address) != 1) return false;
  auto request = request_for("lo:" + std::to_string(number));
  put_address(request, address.s_addr);
  if (ioctl(socket, SIOCSIFADDR, &request) != 0) return false;
  put_address(request, htonl(prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix)));
  return ioctl(socket, SIOCSIFNETMASK, &request) == 0;
}

bool replace_file(const std::filesystem::path& with, const char* file) {
  return mount(with.c_str(), file, nullptr, MS_BIND, nullptr) == 0;
}

}  // namespace

std::optional<std::string> enter_network_namespace(const std::vector<std::string>& addresses) {
  constexpr int kOwn = CLONE_NEWNET | CLONE_NEWNS;
  if (unshare(kOwn) != 0 && unshare(kOwn | CLONE_NEWUSER) != 0) return because("no namespace of its own");
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return because("no mounts of its own");
  static const TempFolder folder;  // mounted for as long as this process lives
  write_file(folder.path() / "resolv.conf", "nameserver 127.0.0.1\noptions timeout:10 attempts:3\n");
  write_file(folder.path() / "hosts", "127.0.0.1 localhost\n::1 localhost\n");
  if (!replace_file(folder.path() / "resolv.conf", "/etc/resolv.conf") || !replace_file(folder.path() / "hosts", "/etc/hosts"))
    return because("no resolver of its own");
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  auto request = request_for("lo");
  bool good = socket >= 0 && ioctl(socket, SIOCGIFFLAGS, &request) == 0;
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  good = good && ioctl(socket, SIOCSIFFLAGS, &request) == 0;
  int number = 0;
  for (const auto& address : addresses) good = good && add_address(socket, ++number, address);
  const auto why = because("no addresses of its own");
  if (socket >= 0) ::close(socket);
  return good ? std::nullopt : std::optional(why);
}

}  // namespace waybill::testing
