// Waits for what comes soon.
#include "plugin_protocol/receive_soon.h"

#include <sched.h>
#include <sys/socket.h>

#include <cerrno>

namespace waybill::plugin_process {
namespace {

constexpr int kLooks = 20;

}  // namespace

ssize_t receive_soon(int socket, char* into, std::size_t most) {
  for (int i = 0; i < kLooks; ++i) {
    const auto size = recv(socket, into, most, MSG_DONTWAIT);
    if (size >= 0 || errno != EAGAIN) return size;
    sched_yield();
  }
  return recv(socket, into, most, 0);
}

}  // namespace waybill::plugin_process
