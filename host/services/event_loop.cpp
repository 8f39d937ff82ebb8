// One thread's loop: tasks from any thread, timers and file descriptors, on epoll.
#include "services/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace waybill {
namespace {

constexpr std::uint64_t kWakeTag = ~std::uint64_t{0};

std::uint64_t tag_of(int fd, std::uint32_t generation) {
  return (std::uint64_t{generation} << 32) | static_cast<std::uint32_t>(fd);
}

}  // namespace

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeTag;
  if (epoll_ < 0 || wake_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0) {
    const int error = errno;
    if (wake_ >= 0) close(wake_);
    if (epoll_ >= 0) close(epoll_);
    throw std::system_error(error, std::generic_category(), "event loop");
  }
}

EventLoop::~EventLoop() {
  close(wake_);
  close(epoll_);
}

void EventLoop::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_, &one, sizeof one);  // a full counter wakes as well
}

void EventLoop::post(Task task) {
  bool asleep;
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
    asleep = std::exchange(asleep_, false);
  }
  if (asleep) wake();
}

void EventLoop::stop() {
  stopped_ = true;
  wake();
}

EventLoop::TimerId EventLoop::after(Duration delay, Task task) {
  // A year is as good as never, and the limit keeps absurd delays from overflowing.
  const auto when =
      std::chrono::steady_clock::now() + std::clamp<Duration>(delay, Duration::zero(), std::chrono::hours(24 * 365));
  const auto id = ++last_timer_;
  timers_.emplace(TimerKey{when, id}, std::move(task));
  timer_times_.emplace(id, when);
  return id;
}

void EventLoop::cancel(TimerId id) {
  const auto found = timer_times_.find(id);
  if (found == timer_times_.end()) return;
  timers_.erase(TimerKey{found->second, id});
  timer_times_.erase(found);
}

void EventLoop::watch(int fd, std::uint32_t events, Watcher watcher) {
  if (static_cast<std::size_t>(fd) >= watched_.size()) watched_.resize(static_cast<std::size_t>(fd) + 1);
  auto& watched = watched_[static_cast<std::size_t>(fd)];
  const bool fresh = watched.events == 0;
  if (fresh) ++watched.generation;
  watched.events = events;
  watched.watcher = std::move(watcher);
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag_of(fd, watched.generation);
  if (epoll_ctl(epoll_, fresh ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) == 0) return;
  // The fd was closed and opened again behind our back, or the kernel still has it.
  const int again = errno == EEXIST ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (epoll_ctl(epoll_, again, fd, &event) != 0) throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

void EventLoop::unwatch(int fd) {
  if (fd < 0 || static_cast<std::size_t>(fd) >= watched_.size() || watched_[static_cast<std::size_t>(fd)].events == 0) return;
  auto& watched = watched_[static_cast<std::size_t>(fd)];
  ++watched.generation;
  watched.events = 0;
  watched.watcher = nullptr;
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);  // fails when the fd is closed already: the kernel has forgotten it then
}

int EventLoop::sleep_length() const {
  if (timers_.empty()) return -1;
  const auto left = timers_.begin()->first.first - std::chrono::steady_clock::now();
  if (left <= Duration::zero()) return 0;
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::min<std::int64_t>(millis, 60'000));
}

void EventLoop::run_timers() {
  const auto now = std::chrono::steady_clock::now();
  const auto last = last_timer_;  // a timer set by a timer waits for the next turn
  while (!timers_.empty() && timers_.begin()->first.first <= now && timers_.begin()->first.second <= last) {
    auto node = timers_.extract(timers_.begin());
    timer_times_.erase(node.key().second);
    node.mapped()();
  }
}

void EventLoop::run() {
  while (!stopped_) turn(Duration::max());
}

void EventLoop::turn(Duration at_most) {
  int timeout = sleep_length();
  if (at_most != Duration::max()) {
    const auto most = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(at_most).count());
    timeout = timeout < 0 ? most : std::min(timeout, most);
  }
  {
    const std::lock_guard lock(mutex_);
    asleep_ = posted_.empty();
    if (!asleep_) timeout = 0;
  }
  const int count = epoll_wait(epoll_, happened_.data(), static_cast<int>(happened_.size()), timeout);
  if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "epoll_wait");
  {
    const std::lock_guard lock(mutex_);
    asleep_ = false;
    tasks_.swap(posted_);
  }
  for (int i = 0; i < count; ++i) {
    const auto& event = happened_[static_cast<std::size_t>(i)];
    if (event.data.u64 == kWakeTag) {
      std::uint64_t counter;
      [[maybe_unused]] const auto got = read(wake_, &counter, sizeof counter);
      continue;
    }
    const auto fd = static_cast<std::uint32_t>(event.data.u64);
    auto& watched = watched_[fd];
    if (watched.events == 0 || tag_of(static_cast<int>(fd), watched.generation) != event.data.u64) continue;
    const auto watcher = watched.watcher;  // a copy: the watcher may unwatch itself
    watcher(event.events);
  }
  run_timers();
  for (auto& task : tasks_) task();
  tasks_.clear();
  if (turn_end_) turn_end_();
}

}  // namespace waybill
