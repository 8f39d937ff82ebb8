// Names to addresses, without blocking the thread that asks.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "egress/ip_address.h"
#include "services/event_loop.h"

namespace waybill {

struct HostAddresses {
  // `none`: the name has no address; `failed`: nobody could say.
  enum class Answer { found, none, failed } answer = Answer::failed;
  std::vector<IpAddress> addresses;
};

// What the system's resolver says. Blocks.
HostAddresses look_up_host(const std::string& host);

// Belongs to the thread of its loop. Each lookup runs on a thread of its own, which may outlive this object.
class HostLookup {
 public:
  using Resolver = std::function<HostAddresses(const std::string& host)>;  // called on other threads, several at once
  using Done = std::function<void(const HostAddresses&)>;

  explicit HostLookup(EventLoop& loop, Resolver resolver = &look_up_host);
  ~HostLookup();  // whoever still waits is not called
  HostLookup(const HostLookup&) = delete;
  HostLookup& operator=(const HostLookup&) = delete;

  // `done` is called before find returns if the answer is remembered, else from the loop. Answers are remembered for a minute,
  // failures not at all.
  void find(const std::string& host, Done done);

 private:
  struct Link;
  struct Known {
    HostAddresses addresses;
    EventLoop::Time until;
  };
  void start();
  void ended(const std::string& host, HostAddresses result);

  const std::shared_ptr<Link> link_;  // with the threads
  std::unordered_map<std::string, std::vector<Done>> waiting_;
  std::deque<std::string> queue_;  // names that wait for a thread
  std::size_t running_ = 0;
  std::unordered_map<std::string, Known> known_;
};

}  // namespace waybill
