// What each client address may have open at one time, and all of them together: connections, and bytes of heads and bodies.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace waybill::http {

struct PeerLimits {
  std::size_t bytes = 0;  // of one address
  std::size_t bytes_in_all = 0;
};

class Peers;

// One address and what it holds. Safe from any thread.
class Peer {
 public:
  explicit Peer(std::string address) : address_(std::move(address)) {}
  const std::string& address() const { return address_; }

 private:
  friend class Peers;
  friend class ConnectionPlace;
  friend class ByteShare;
  const std::string address_;
  std::atomic<std::size_t> connections_ = 0;
  std::atomic<std::size_t> bytes_ = 0;
};

// Safe from any thread. Outlives what it gave out.
class Peers {
 public:
  explicit Peers(PeerLimits limits) : limits_(limits) {}

  // `address`: of IPv6 the first 64 bits count, since whoever has one address has all of them. The same object for the same
  // address as long as somebody holds it.
  std::shared_ptr<Peer> find(std::string_view address);
  std::size_t bytes() const { return bytes_; }

 private:
  friend class ConnectionPlace;
  friend class ByteShare;
  const PeerLimits limits_;
  std::atomic<std::size_t> bytes_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Peer>, std::less<>> known_;
  std::size_t prune_at_ = 1024;
};

// Counts one connection while it lives.
class ConnectionPlace {
 public:
  explicit ConnectionPlace(std::shared_ptr<Peer> peer);
  ConnectionPlace(const ConnectionPlace&) = delete;
  ConnectionPlace& operator=(const ConnectionPlace&) = delete;
  ~ConnectionPlace();
  std::size_t connections() const { return held_; }  // of the address, with this one, when it came

 private:
  std::shared_ptr<Peer> peer_;
  std::size_t held_;
};

// The bytes that one request holds; given back at its end.
class ByteShare {
 public:
  enum class Refusal { none, peer, all };

  explicit ByteShare(Peers& peers) : peers_(peers) {}
  ByteShare(const ByteShare&) = delete;
  ByteShare& operator=(const ByteShare&) = delete;
  ~ByteShare() { release(); }

  // Raises what is held to `bytes`; nothing changes if that is refused, or if it is less than before.
  Refusal raise(const std::shared_ptr<Peer>& peer, std::size_t bytes);
  void release();

 private:
  Peers& peers_;
  std::shared_ptr<Peer> peer_;
  std::size_t held_ = 0;
};

// What stands for everybody behind an address: the first 64 bits of an IPv6 address, as "2001:db8::/64"; any other text as it is.
std::string peer_key(std::string_view address);

}  // namespace waybill::http
