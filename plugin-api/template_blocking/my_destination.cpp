// Action type my_destination: hands each payload to a client library that blocks. The library here is a line over TCP, to be
// replaced.
//
//   destination   {"url": "http://HOST:PORT"}: where a listener waits for lines. Only host and port are used, no HTTP is spoken.
//   payload       one line of text, at most 100,000 bytes, without line breaks
//
//   we connect, write  PAYLOAD\n  and read one line, until the deadline, on a new connection for each attempt:
//   OK [REF]      accepted; REF, if it is plain ASCII, is the provider_ref
//   NO [...]      rejected: refused
//   other lines   transient: invalid_answer
//   no line       transient: not_connected (not sent), no_answer (maybe sent)
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>

#include "waybill/plugin.hpp"
#include "waybill/plugin/fields.hpp"

namespace {
using namespace waybill::plugin;
using Steady = std::chrono::steady_clock;

constexpr std::size_t kMaxPayloadLength = 100'000;
constexpr std::size_t kMaxAnswerLength = 1'000;

struct Address {
  std::string host;
  std::string port;
};

// None if the URL is not of the form http://HOST:PORT with a numeric port; HOST may be an IPv6 address in brackets.
std::optional<Address> address_of(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (url.substr(0, kScheme.size()) != kScheme) return std::nullopt;
  url.remove_prefix(kScheme.size());
  url = url.substr(0, url.find_first_of("/?#"));
  const auto colon = url.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  Address address{std::string(url.substr(0, colon)), std::string(url.substr(colon + 1))};
  if (address.host.front() == '[' && address.host.back() == ']') address.host = address.host.substr(1, address.host.size() - 2);
  const bool numeric = !address.port.empty() && address.port.find_first_not_of("0123456789") == std::string::npos;
  return numeric && !address.host.empty() ? std::optional(address) : std::nullopt;
}

// An ordinary blocking socket, each of whose steps ends at the deadline at the latest.
class Connection {
 public:
  explicit Connection(Steady::time_point deadline) : deadline_(deadline) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(); }

  bool connect(const Address& address) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found) != 0) return false;
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
    for (const auto* one = found; one && left().count() > 0; one = one->ai_next) {
      close();
      fd_ = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
      if (fd_ >= 0 && limit_writing() && ::connect(fd_, one->ai_addr, one->ai_addrlen) == 0) return true;
    }
    return false;
  }
  // False if not all of it could be written; `sent` then says whether some of it was.
  bool write(std::string_view bytes, bool& sent) {
    while (!bytes.empty()) {
      if (left().count() <= 0 || !limit_writing()) return false;
      const auto count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent = true;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  // The line without its end; none if it did not come whole, or is too long.
  std::optional<std::string> read_line() {
    std::string line;
    while (line.size() <= kMaxAnswerLength) {
      pollfd wanted{fd_, POLLIN, 0};
      const auto wait = std::max(left(), std::chrono::milliseconds(0));
      if (::poll(&wanted, 1, static_cast<int>(std::min<std::int64_t>(wait.count(), 3'600'000))) <= 0) return std::nullopt;
      char buffer[256];
      const auto count = ::recv(fd_, buffer, sizeof buffer, 0);
      if (count <= 0) return std::nullopt;
      line.append(buffer, static_cast<std::size_t>(count));
      if (const auto end = line.find('\n'); end != std::string::npos) {
        line.resize(end > 0 && line[end - 1] == '\r' ? end - 1 : end);
        return line;
      }
    }
    return std::nullopt;
  }

 private:
  std::chrono::milliseconds left() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Steady::now());
  }
  bool limit_writing() const {  // on Linux it bounds connect() too
    const auto ms = std::max<std::int64_t>(left().count(), 1);
    const timeval limit{ms / 1000, (ms % 1000) * 1000};
    return ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0;
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  const Steady::time_point deadline_;
  int fd_ = -1;
};

bool begins_with(std::string_view line, std::string_view word) {
  return line.substr(0, word.size()) == word && (line.size() == word.size() || line[word.size()] == ' ');
}

Outcome judge_line(std::string_view line) {
  if (begins_with(line, "OK")) {
    auto outcome = Outcome::accepted();
    const auto ref = line.substr(std::min<std::size_t>(line.size(), 3));
    if (std::all_of(ref.begin(), ref.end(), [](char c) { return c > 0x20 && c < 0x7f; })) outcome.provider_ref(std::string(ref));
    return outcome;
  }
  if (begins_with(line, "NO")) return Outcome::rejected("refused").detail("the receiver said NO");
  return Outcome::transient("invalid_answer").reach(Reach::answered).detail("the answer begins with neither OK nor NO");
}

Outcome deliver(const Address& address, std::string_view payload, Steady::time_point deadline) {
  Connection connection(deadline);
  if (!connection.connect(address))
    return Outcome::transient("not_connected")
        .reach(Reach::not_sent)
        .detail("no connection to " + address.host + ':' + address.port);
  bool sent = false;
  if (!connection.write(std::string(payload) + '\n', sent))
    return Outcome::transient("no_answer").reach(sent ? Reach::maybe_sent : Reach::not_sent).detail("the line was not taken");
  const auto line = connection.read_line();
  if (!line) return Outcome::transient("no_answer").detail("no line came back in time");
  return judge_line(*line);
}

std::optional<Address> address_in(std::string_view destination) {
  try {
    const auto url = Fields(destination).text("url");
    return url ? address_of(*url) : std::nullopt;
  } catch (const std::invalid_argument&) {  // no JSON
    return std::nullopt;
  }
}

void check_destination(std::string_view destination, Report& report) {
  if (!address_in(destination)) report("/url", "must be http://HOST:PORT, the place of the listener");
}

class MyDestinationSender final : public Sender {
 public:
  MyDestinationSender(Host, std::string_view) {}

  // Blocks, which only a sender flagged as blocking may do: until the job's deadline at the latest.
  void send(Call call, Job job) override {
    const auto deadline = Steady::now() + job.deadline();
    const auto payload = job.payload();
    const auto address = address_in(job.destination());
    if (!address) throw std::runtime_error("the destination is not http://HOST:PORT");  // was never checked
    if (payload.size() > kMaxPayloadLength || payload.find_first_of("\r\n") != std::string_view::npos) {
      call.complete(Outcome::rejected("invalid_request").reach(Reach::not_sent).detail("the payload must be one line"));
      return;
    }
    call.complete(deliver(*address, payload, deadline));
  }

  // It is entered by the thread that send blocks, so it comes before send or after it; send leaves no call open.
  void cancel(Call) override {}
};

constexpr wb_reason kReasons[] = {permanent("refused"), permanent("invalid_request")};
constexpr auto kAction =
    action<MyDestinationSender>("my_destination")
        .blocking()
        .reasons(kReasons)
        .destination_schema(R"({"type":"object","required":["url"],"additionalProperties":false,)"
                            R"("properties":{"url":{"type":"string","description":"http://HOST:PORT of the listener"}}})")
        .validate_destination<check_destination>();
}  // namespace

WAYBILL_PLUGIN("my_destination", "0.1.0", kAction);
