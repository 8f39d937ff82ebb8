// Names to addresses, a thread for each lookup.
#include "services/host_lookup.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

namespace waybill {
namespace {

constexpr std::size_t kMaxThreads = 128;  // a name server that hangs holds them for as long as the system's resolver waits
constexpr std::size_t kMaxKnown = 4096;
constexpr std::chrono::seconds kKnownFor{60};

}  // namespace

// How a thread finds its way back, as long as there is one.
struct HostLookup::Link {
  std::mutex mutex;
  EventLoop* loop;     // guarded by mutex; null once the lookup is gone
  HostLookup* lookup;  // guarded by mutex
  const Resolver resolver;
};

HostAddresses look_up_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, [](addrinfo* one) {
    if (one != nullptr) freeaddrinfo(one);
  });
  HostAddresses result;
  if (error != 0) {
    const bool none = error == EAI_NONAME || error == EAI_NODATA || error == EAI_ADDRFAMILY;
    result.answer = none ? HostAddresses::Answer::none : HostAddresses::Answer::failed;
    return result;
  }
  for (const auto* one = list; one != nullptr; one = one->ai_next) {
    const auto address = address_of(*one->ai_addr);
    if (address && std::find(result.addresses.begin(), result.addresses.end(), *address) == result.addresses.end())
      result.addresses.push_back(*address);
  }
  result.answer = result.addresses.empty() ? HostAddresses::Answer::none : HostAddresses::Answer::found;
  return result;
}

HostLookup::HostLookup(EventLoop& loop, Resolver resolver) : link_(new Link{{}, &loop, this, std::move(resolver)}) {}

HostLookup::~HostLookup() {
  const std::lock_guard lock(link_->mutex);
  link_->loop = nullptr;
  link_->lookup = nullptr;
}

void HostLookup::find(const std::string& host, Done done) {
  if (const auto known = known_.find(host); known != known_.end()) {
    if (std::chrono::steady_clock::now() < known->second.until) return done(known->second.addresses);
    known_.erase(known);
  }
  auto& others = waiting_[host];
  others.push_back(std::move(done));
  if (others.size() > 1) return;
  queue_.push_back(host);
  start();
}

void HostLookup::start() {
  while (!queue_.empty() && running_ < kMaxThreads) {
    const auto work = [link = link_, host = queue_.front()] {
      HostAddresses result;
      try {
        result = link->resolver(host);
      } catch (...) {  // for want of memory: it failed
      }
      const std::lock_guard lock(link->mutex);
      if (link->loop == nullptr) return;
      link->loop->post([link, host, result = std::move(result)] {
        if (link->lookup != nullptr) link->lookup->ended(host, result);  // set to null on this thread only
      });
    };
    try {
      std::thread(work).detach();
    } catch (const std::system_error&) {  // no thread to be had: the next that ends makes room
      if (running_ > 0) return;
      const auto host = queue_.front();
      queue_.pop_front();
      link_->loop->post([link = link_, host] {
        if (link->lookup != nullptr) link->lookup->ended(host, {});
      });
      ++running_;
      continue;
    }
    queue_.pop_front();
    ++running_;
  }
}

void HostLookup::ended(const std::string& host, HostAddresses result) {
  --running_;
  start();
  if (result.answer != HostAddresses::Answer::failed) {
    const auto now = std::chrono::steady_clock::now();
    if (known_.size() >= kMaxKnown) std::erase_if(known_, [&](const auto& entry) { return entry.second.until <= now; });
    if (known_.size() >= kMaxKnown) known_.clear();
    known_[host] = {result, now + kKnownFor};
  }
  for (const auto& done : std::exchange(waiting_[host], {})) done(result);
  if (const auto left = waiting_.find(host); left != waiting_.end() && left->second.empty()) waiting_.erase(left);
}

}  // namespace waybill
