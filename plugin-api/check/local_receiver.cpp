// Listens in a child process, so that no thread of ours is counted as the plugin's.
#include "local_receiver.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace waybill::conformance {
namespace {

using Json = nlohmann::json;

constexpr int kBacklog = 64;

[[noreturn]] void serve(int listener, const Manner& manner) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  for (;;) {
    const int peer = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) continue;
    if (manner.kind == Manner::Kind::silent) continue;  // kept open for as long as this process lives
    char buffer[4096];
    if (manner.kind == Manner::Kind::answers && recv(peer, buffer, sizeof buffer, 0) > 0 &&
        send(peer, manner.answer.data(), manner.answer.size(), MSG_NOSIGNAL) > 0)
      shutdown(peer, SHUT_WR);
    close(peer);
  }
}

std::string http(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status +
         "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

bool redirect(Json& json, const std::string& authority) {
  bool changed = false;
  if (json.is_structured())
    for (auto& part : json) changed = redirect(part, authority) || changed;
  if (!json.is_string()) return changed;
  const auto& text = json.get_ref<const std::string&>();
  const auto begin = text.find("://");
  if (begin == std::string::npos) return changed;
  const auto end = std::min(text.find_first_of("/?#", begin + 3), text.size());
  json = text.substr(0, begin + 3) + authority + text.substr(end);
  return true;
}

}  // namespace

std::vector<Manner> manners() {
  using Kind = Manner::Kind;
  return {{"nobody listens", Kind::absent},
          {"the receiver closes at once", Kind::closes},
          {"the receiver answers HTTP 200", Kind::answers, http("200 OK", "{}")},
          {"the receiver answers HTTP 400", Kind::answers, http("400 Bad Request", R"({"error":"a\nb\u0001"})")},
          {"the receiver answers HTTP 503", Kind::answers, http("503 Service Unavailable", "<html>")},
          {"the receiver answers an endless line", Kind::answers, std::string(200'000, 'x')},
          {"the receiver answers bytes that mean nothing", Kind::answers, std::string("\xff\xfe\x00\x80\r\n\n\x01 gone\n", 14)},
          {"the receiver never answers", Kind::silent}};
}

LocalReceiver::LocalReceiver(const Manner& manner) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (listener < 0 || bind(listener, raw, length) != 0 || getsockname(listener, raw, &length) != 0)
    throw std::runtime_error("no port can be had for a receiver of the check's own");
  port_ = ntohs(address.sin_port);
  if (manner.kind != Manner::Kind::absent) {
    if (listen(listener, kBacklog) != 0) throw std::runtime_error("no receiver of the check's own can be started");
    pid_ = fork();
    if (pid_ == 0) serve(listener, manner);
  }
  close(listener);
}

LocalReceiver::~LocalReceiver() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::optional<std::string> redirected(std::string_view text, std::uint16_t port) {
  auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !redirect(json, "127.0.0.1:" + std::to_string(port))) return std::nullopt;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace waybill::conformance
