// Counters are raised first and taken back if that was too much, so that no two threads pass a limit together.
#include "http/peers.h"

#include <algorithm>

#include "egress/ip_address.h"

namespace waybill::http {

std::string peer_key(std::string_view address) {
  const auto without_zone = address.substr(0, address.find('%'));
  auto parsed = parse_address(without_zone);
  if (!parsed) return std::string(without_zone);
  if (!parsed->is_v6) return parsed->text();
  std::fill(parsed->bytes.begin() + 8, parsed->bytes.end(), std::uint8_t{0});
  return parsed->text() + "/64";
}

std::shared_ptr<Peer> Peers::find(std::string_view address) {
  const auto key = peer_key(address);
  std::lock_guard lock(mutex_);
  if (known_.size() >= prune_at_) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    prune_at_ = std::max<std::size_t>(1024, 2 * known_.size());
  }
  auto& known = known_[key];
  auto peer = known.lock();
  if (!peer) known = peer = std::make_shared<Peer>(key);
  return peer;
}

ConnectionPlace::ConnectionPlace(std::shared_ptr<Peer> peer) : peer_(std::move(peer)), held_(++peer_->connections_) {}

ConnectionPlace::~ConnectionPlace() { --peer_->connections_; }

ByteShare::Refusal ByteShare::raise(const std::shared_ptr<Peer>& peer, std::size_t bytes) {
  if (peer_ && peer_ != peer) release();  // what a proxy's connection held is its client's from here on
  if (bytes <= held_) return Refusal::none;
  const auto more = bytes - held_;
  const auto raised = [more](std::atomic<std::size_t>& counter, std::size_t most) {
    if (counter.fetch_add(more) + more <= most) return true;
    counter -= more;
    return false;
  };
  if (!raised(peer->bytes_, peers_.limits_.bytes)) return Refusal::peer;
  if (!raised(peers_.bytes_, peers_.limits_.bytes_in_all)) {
    peer->bytes_ -= more;
    return Refusal::all;
  }
  peer_ = peer;
  held_ = bytes;
  return Refusal::none;
}

void ByteShare::release() {
  if (held_ == 0) return;
  peer_->bytes_ -= held_;
  peers_.bytes_ -= held_;
  held_ = 0;
  peer_.reset();
}

}  // namespace waybill::http
