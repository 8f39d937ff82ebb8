// Blocks, with a client of its own that waits three seconds for an answer, whatever the deadline. Every answer will do.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "poster.h"

namespace {

bool is_answered(const std::string& url) {
  const auto colon = url.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(url.c_str() + (colon == std::string::npos ? 0 : colon + 1))));
  const int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  pollfd wanted{peer, POLLIN, 0};
  static constexpr std::string_view kRequest = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  const bool answered = connect(peer, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                        send(peer, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) > 0 && poll(&wanted, 1, 3000) > 0;
  close(peer);
  return answered;
}

void send_one(wb_sender* self, wb_call call, const wb_job* job) {
  const auto made = is_answered(kit::url_in(kit::view(job->destination)))
                        ? kit::outcome(WB_ACCEPTED)
                        : kit::outcome(WB_TRANSIENT, WB_MAYBE_SENT, "no_answer");
  kit::of(self).host->complete(kit::of(self).host, call, &made);
}

constexpr wb_sender_vt kTable{&send_one, &kit::no_cancel, &kit::no_extension, &kit::destroy};

wb_sender* create_one(const wb_host* host, wb_str, const wb_sender_vt** vt, wb_report, void*) {
  *vt = &kTable;
  return kit::make(host);
}

}  // namespace

KIT_PLUGIN_OF(kit::action("overstays", &create_one, WB_BLOCKING), "overstays");
