// One thread's loop: tasks from any thread, timers and file descriptors, on epoll.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace waybill {

// post() and stop() are safe from any thread; all else belongs to the thread that calls run() (or will call it).
class EventLoop {
 public:
  using Task = std::function<void()>;
  using Watcher = std::function<void(std::uint32_t events)>;
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;
  using TimerId = std::uint64_t;

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  void post(Task task);  // runs in order of posting; the loop is woken only if it may be asleep
  void stop();           // run() returns after the turn in hand

  void run();
  void turn(Duration at_most);                                // one round of run(), which waits for at most so long
  TimerId after(Duration delay, Task task);                   // ids start at 1 and are never reused
  void cancel(TimerId id);                                    // unknown ids are ignored
  void watch(int fd, std::uint32_t events, Watcher watcher);  // EPOLLIN, EPOLLOUT; replaces an earlier watch of this fd
  void unwatch(int fd);                                       // also after the fd was closed
  // Called at the end of every turn, when all that was due has run: the place to hand on what the turn produced.
  void at_turn_end(Task task) { turn_end_ = std::move(task); }

 private:
  struct Watch {
    std::uint32_t generation = 0;  // tells a late event of a closed fd from one of its successor
    std::uint32_t events = 0;      // 0: not watched
    Watcher watcher;
  };
  using TimerKey = std::pair<Time, TimerId>;

  void wake();
  int sleep_length() const;
  void run_timers();

  int epoll_ = -1;
  int wake_ = -1;
  std::mutex mutex_;
  std::vector<Task> posted_;  // guarded by mutex_
  bool asleep_ = false;       // guarded by mutex_
  std::atomic<bool> stopped_{false};
  std::map<TimerKey, Task> timers_;
  std::unordered_map<TimerId, Time> timer_times_;
  TimerId last_timer_ = 0;
  std::vector<Watch> watched_;             // by fd
  std::array<epoll_event, 256> happened_;  // of the turn in hand
  std::vector<Task> tasks_;                // the same
  Task turn_end_;
};

}  // namespace waybill
