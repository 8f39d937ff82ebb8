// The gateway that everything is delivered to: one epoll thread on loopback that answers 200, at once or later, and counts. It
// may refuse some.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <unordered_map>

namespace waybill::bench {

using SteadyTime = std::chrono::steady_clock::time_point;

// Public functions are safe from any thread.
class Receiver {
 public:
  // `delay` is from the last byte of a request to its answer. On this port, or on any that is free. Answers 429 to each request
  // whose number is a multiple of `refuse_each`; 0: to none.
  explicit Receiver(std::chrono::milliseconds delay = {}, std::uint16_t port = 0, std::uint64_t refuse_each = 0);
  ~Receiver();

  std::uint16_t port() const { return port_; }
  std::uint64_t requests() const { return requests_.load(std::memory_order_acquire); }  // without the refused
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  std::uint64_t unsigned_requests() const { return unsigned_requests_.load(std::memory_order_relaxed); }
  std::uint64_t most_open() const { return most_open_.load(std::memory_order_relaxed); }  // requests unanswered at one time
  SteadyTime last_arrival() const;  // of the first bytes of the last request that was counted
  double cpu_seconds() const;       // of its thread

 private:
  struct Connection {
    std::string unread;  // the beginning of a request
    SteadyTime since;    // when that came
    std::uint64_t id = 0;
  };
  struct Due {
    SteadyTime at;
    int fd;
    std::uint64_t id;  // of the connection: its descriptor may be another's by then
    bool refused;
  };

  void run(std::stop_token stop);
  void accept_all();
  bool serve(int fd, Connection& connection, SteadyTime now);  // false: it is over
  bool count_in(SteadyTime since);                             // false: it is to be refused
  static bool answer(int fd, bool refused);
  void answer_due();
  int until_due_ms() const;  // -1: nothing waits

  int listener_ = -1, epoll_ = -1, wake_ = -1;
  std::uint16_t port_ = 0;
  const std::chrono::milliseconds delay_;
  const std::uint64_t refuse_each_;
  std::unordered_map<int, Connection> connections_;  // the thread's own, as the next two
  std::deque<Due> due_;                              // in order of time, as the delay is the same for all
  std::uint64_t last_id_ = 0;
  std::atomic<std::uint64_t> requests_{0}, refused_{0}, unsigned_requests_{0}, most_open_{0};
  std::atomic<SteadyTime::rep> last_arrival_{0};
  clockid_t cpu_clock_{};
  std::jthread thread_;  // last: it uses all above
};

}  // namespace waybill::bench
