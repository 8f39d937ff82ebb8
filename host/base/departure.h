// The last question before a request, or the end of a mail, leaves this host: whether its call still may.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace waybill {

// How far a call has got, as the host sees it. Only grows.
enum class Reached : std::uint8_t {
  plugin,    // only the plugin has it, and does with it what the host does not see
  host,      // a service of the host has it
  network,   // something of it left, or is about to, by a connection that there was
  connected  // the same, by a connection that was made for it
};

// Of a request or a mail. An empty one may always leave; otherwise both must outlive it.
struct Departure {
  std::atomic<Reached>* reached = nullptr;
  const std::atomic<bool>* is_barred = nullptr;

  // Call right before the first byte leaves; false: it must not. The order holds for all threads: whoever bars first and then
  // finds a call that has not reached the network knows that nothing of it leaves. One thread at a time calls it.
  bool begin(bool is_new_connection) const {
    if (reached == nullptr) return true;
    reached->store(is_new_connection ? Reached::connected : std::max(reached->load(), Reached::network));
    return !is_barred->load();
  }
};

}  // namespace waybill
