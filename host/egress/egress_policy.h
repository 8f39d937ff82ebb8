// Who may be connected to: the operator's rules, and the decision about one address.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "egress/address_class.h"
#include "egress/ip_address.h"

namespace waybill {

// Who wrote the destination.
enum class Trust : std::uint8_t {
  registry,  // the operator: a target or a form of the registry, a sender's settings
  tenant     // an organisation: the settings of one of its channels
};

// What the destinations of the registry are held to. A tenant's are always held to `strict`.
enum class EgressGuard : std::uint8_t {
  standard,  // all but link-local, multicast and metadata addresses
  strict,    // public addresses only
  off        // every address
};

// An entry of the allow-list or of the deny-list: "127.0.0.1/32:8025", "10.1.0.0/16", "[fd00::1]/128:443".
struct EgressException {
  AddressRange range;
  std::optional<std::uint16_t> port;  // none: every port

  bool operator==(const EgressException&) const = default;
};

// None, if the text is no such entry.
std::optional<EgressException> parse_egress_exception(std::string_view text);

struct EgressRules {
  std::vector<EgressException> allow;
  std::vector<EgressException> deny;  // wins over everything else, for whoever wrote the destination
  EgressGuard guard = EgressGuard::standard;

  bool operator==(const EgressRules&) const = default;
};

// The addresses of this host's interfaces.
std::vector<IpAddress> interface_addresses();

// Safe from any thread.
class EgressPolicy {
 public:
  using OwnAddresses = std::function<std::vector<IpAddress>()>;

  explicit EgressPolicy(EgressRules rules = {}, OwnAddresses own = &interface_addresses);

  // Why the address must not be connected to; none: it may be. An entry of the deny-list wins, then one of the allow-list, over a
  // metadata address only if it names that one address.
  std::optional<AddressClass> refusal(const IpAddress& address, std::uint16_t port, Trust trust) const;

 private:
  bool is_denied(const IpAddress& address, std::uint16_t port) const;
  bool is_allowed(const IpAddress& address, std::uint16_t port, AddressClass kind) const;
  bool is_own(const IpAddress& address) const;

  const EgressRules rules_;
  const OwnAddresses read_own_;
  mutable std::mutex mutex_;
  mutable std::vector<IpAddress> own_;                                        // guarded by mutex_
  mutable std::optional<std::chrono::steady_clock::time_point> own_read_at_;  // guarded by mutex_
};

}  // namespace waybill
