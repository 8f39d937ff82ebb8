// The gateway that everything is delivered to: one epoll thread on loopback that answers 200 at once, and counts.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <unordered_map>

namespace waybill::bench {

using SteadyTime = std::chrono::steady_clock::time_point;

// Public functions are safe from any thread.
class Receiver {
 public:
  Receiver();
  ~Receiver();

  std::uint16_t port() const { return port_; }
  std::uint64_t requests() const { return requests_.load(std::memory_order_acquire); }
  std::uint64_t unsigned_requests() const { return unsigned_requests_.load(std::memory_order_relaxed); }
  SteadyTime last_arrival() const;  // of the first bytes of the last request that was counted
  double cpu_seconds() const;       // of its thread

 private:
  struct Connection {
    std::string unread;  // the beginning of a request
    SteadyTime since;    // when that came
  };

  void run(std::stop_token stop);
  void accept_all();
  bool serve(int fd, Connection& connection, SteadyTime now);  // false: it is over

  int listener_ = -1, epoll_ = -1, wake_ = -1;
  std::uint16_t port_ = 0;
  std::unordered_map<int, Connection> connections_;  // the thread's own
  std::atomic<std::uint64_t> requests_{0}, unsigned_requests_{0};
  std::atomic<SteadyTime::rep> last_arrival_{0};
  clockid_t cpu_clock_{};
  std::jthread thread_;  // last: it uses all above
};

}  // namespace waybill::bench
