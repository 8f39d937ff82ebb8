// Sockets of a plugin's process.
#include "plugin_guest/guest_stream.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "plugin_protocol/receive_soon.h"

namespace waybill::plugin_process {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{256} << 10;
constexpr std::chrono::milliseconds kFlushesEvery{20};
constexpr int kQuietRounds = 50;
constexpr int kHostIsGone = 0;      // the exit code then: nothing is wrong with the plugin
constexpr int kHostIsStrange = 70;  // EX_SOFTWARE

[[noreturn]] void leave(int code) { _exit(code); }

}  // namespace

GuestStream::GuestStream(const Page& page) : strand_(std::this_thread::get_id()), page_(page) {
  std::thread([this] { flush_what_waits(); }).detach();  // both live as long as the process
}

void GuestStream::wake_flusher() {
  is_idle_ = false;
  put_.notify_one();
}

// A call that does not come back must not keep what others have said before it.
void GuestStream::flush_what_waits() {
  std::unique_lock lock(mutex_);
  for (int quiet = 0;;) {
    if (quiet >= kQuietRounds) {
      is_idle_ = true;
      put_.wait(lock, [this] { return !is_idle_; });
    }
    lock.unlock();
    std::this_thread::sleep_for(kFlushesEvery);
    lock.lock();
    quiet = out_.empty() ? quiet + 1 : 0;
    const auto inside = page_.inside();
    if (out_.empty() || !inside || inside->since != stays_since_) {
      stays_since_ = inside ? inside->since : 0;
      continue;
    }
    flush();  // the strand is where it was a round ago
  }
}

bool GuestStream::receive(bool wait) {
  for (;;) {
    auto* const room = frames_.room(kReadAtOnce);
    const auto size =
        wait ? receive_soon(kStreamDescriptor, room, kReadAtOnce) : recv(kStreamDescriptor, room, kReadAtOnce, MSG_DONTWAIT);
    if (size > 0) {
      frames_.grew_by(static_cast<std::size_t>(size));
      return true;
    }
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return false;
    leave(kHostIsGone);
  }
}

Frame GuestStream::read() {
  for (Frame frame;;) {
    switch (frames_.next(frame)) {
      case Frames::Next::frame:
        return frame;
      case Frames::Next::fault:
        leave(kHostIsStrange);
      case Frames::Next::more:
        break;
    }
    if (!early_.empty()) {
      std::memcpy(frames_.room(early_.size()), early_.data(), early_.size());
      frames_.grew_by(early_.size());
      early_.clear();
      continue;
    }
    if (receive(false)) continue;
    flush_all();
    if (early_.empty()) receive(true);
  }
}

void GuestStream::flush_all() {
  const std::lock_guard lock(mutex_);
  flush();
}

void GuestStream::flush() {
  std::string_view left = out_;
  while (!left.empty()) {
    const auto sent = send(kStreamDescriptor, left.data(), left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      left.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) leave(kHostIsGone);
    // The host may wait in the same way: so the strand reads meanwhile.
    const bool reads = on_strand();
    pollfd ready{kStreamDescriptor, static_cast<short>(reads ? POLLIN | POLLOUT : POLLOUT), 0};
    if (poll(&ready, 1, -1) <= 0 || !reads || (ready.revents & POLLIN) == 0) continue;
    const auto before = early_.size();
    early_.resize(before + kReadAtOnce);
    const auto size = recv(kStreamDescriptor, early_.data() + before, kReadAtOnce, MSG_DONTWAIT);
    early_.resize(before + static_cast<std::size_t>(size > 0 ? size : 0));
    if (size == 0) leave(kHostIsGone);
  }
  out_.clear();
}

bool GuestQuestions::exchange(Answer& answer) {
  std::string_view left = out_;
  while (!left.empty()) {
    const auto sent = send(kQuestionDescriptor, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent > 0) left.remove_prefix(static_cast<std::size_t>(sent));
    if (sent <= 0 && errno != EINTR) leave(kHostIsGone);
  }
  for (Frame frame;;) {
    switch (frames_.next(frame)) {
      case Frames::Next::frame:
        return frame.kind == static_cast<std::uint32_t>(Kind::answer) && take_message(frame.body, answer);
      case Frames::Next::fault:
        leave(kHostIsStrange);
      case Frames::Next::more:
        break;
    }
    constexpr std::size_t kAnswerAtOnce = 4096;
    const auto size = receive_soon(kQuestionDescriptor, frames_.room(kAnswerAtOnce), kAnswerAtOnce);
    if (size > 0) frames_.grew_by(static_cast<std::size_t>(size));
    if (size == 0 || (size < 0 && errno != EINTR)) leave(kHostIsGone);
  }
}

}  // namespace waybill::plugin_process
