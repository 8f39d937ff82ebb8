// Reads and writes a plugin's stream without waiting, or with a limit.
#include "plugin_process/host_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/duration.h"

namespace waybill::plugin_process {
namespace {

constexpr std::size_t kHostReadsAtOnce = std::size_t{256} << 10;
constexpr std::size_t kCompactAt = std::size_t{1} << 20;

}  // namespace

void HostStream::put_again(std::string_view frame, std::uint64_t id) {
  const auto at = out_.size();
  out_.append(frame);
  std::memcpy(out_.data() + at + kHeadBytes, &id, sizeof id);
}

bool HostStream::flush() {
  while (sent_ < out_.size()) {
    const auto sent = send(descriptor_, out_.data() + sent_, out_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      sent_ += static_cast<std::size_t>(sent);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return false;
    if (sent_ > kCompactAt) out_.erase(0, std::exchange(sent_, 0));
    return true;
  }
  out_.clear();
  sent_ = 0;
  if (out_.capacity() > kCompactAt) out_.shrink_to_fit();
  return true;
}

void HostStream::end() { shutdown(descriptor_, SHUT_WR); }

HostStream::Got HostStream::receive() {
  for (;;) {
    const auto size = recv(descriptor_, frames_.room(kHostReadsAtOnce), kHostReadsAtOnce, MSG_DONTWAIT);
    if (size > 0) {
      frames_.grew_by(static_cast<std::size_t>(size));
      return Got::something;
    }
    if (size < 0 && errno == EINTR) continue;
    return size < 0 && errno == EAGAIN ? Got::nothing : Got::end;
  }
}

Result<Frame> HostStream::read(Millis within) {
  using Steady = std::chrono::steady_clock;
  const auto until = Steady::now() + within;
  for (Frame frame;;) {
    switch (frames_.next(frame)) {
      case Frames::Next::frame:
        return frame;
      case Frames::Next::fault:
        return fail(Error::Kind::invalid, "its process sends what is no message");
      case Frames::Next::more:
        break;
    }
    if (!flush()) return fail(Error::Kind::unavailable, "its process is gone");
    switch (receive()) {
      case Got::something:
        continue;
      case Got::end:
        return fail(Error::Kind::unavailable, "its process is gone");
      case Got::nothing:
        break;
    }
    const auto left = std::chrono::ceil<Millis>(until - Steady::now()).count();
    pollfd ready{descriptor_, static_cast<short>(unsent() == 0 ? POLLIN : POLLIN | POLLOUT), 0};
    const int changed = left <= 0 ? 0 : poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (changed == 0 && Steady::now() >= until)
      return fail(Error::Kind::unavailable, "its process was silent for " + format_duration(within));
  }
}

}  // namespace waybill::plugin_process
