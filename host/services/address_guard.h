// Which addresses a request may connect to: a destination's name is resolved once, all its addresses are judged, and only those
// are connected to.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "egress/egress_policy.h"
#include "services/event_loop.h"
#include "services/host_lookup.h"

namespace waybill {

// What was refused, for the operator's log: a tenant must not learn of it.
struct AddressRefusal {
  std::string endpoint;  // "example.org:443", as the destination was written
  std::string address;   // "10.0.0.5"; empty: the name has none, or may not be called whatever its address
  std::string why;       // a class of address, "no_address", "name" or "not_vetted"
};
inline constexpr std::string_view kAddressNotAllowed = "the address is not allowed";

// One transfer's leave to connect. Belongs to the transfer.
class ConnectLeave {
 public:
  explicit ConnectLeave(const EgressPolicy& policy) : policy_(policy) {}  // which outlives it

  // A registry's destination is judged address by address; a tenant's may go nowhere before allow_only() was called.
  void reset(Trust trust, std::string_view endpoint);
  void allow_only(std::vector<IpAddress> addresses) { only_ = std::move(addresses); }
  bool may_open(const sockaddr& written);                  // a new connection
  bool may_use(std::string_view written);                  // a connection that is there already, perhaps another transfer's
  void refuse(std::string address, std::string_view why);  // the first refusal counts
  const std::optional<AddressRefusal>& refusal() const { return refusal_; }
  Trust trust() const { return trust_; }
  const std::vector<IpAddress>& addresses() const { return only_; }

 private:
  bool passes(const IpAddress& address);

  const EgressPolicy& policy_;
  Trust trust_ = Trust::registry;
  std::string endpoint_;
  std::uint16_t port_ = 0;
  std::vector<IpAddress> only_;
  std::optional<AddressRefusal> refusal_;
};

// Judges a tenant's destination as a whole. Belongs to the thread of its loop.
class AddressGuard {
 public:
  AddressGuard(EventLoop& loop, std::shared_ptr<const EgressPolicy> policy, HostLookup::Resolver resolver);

  struct Judgement {
    enum class How { allowed, refused, unresolved } how = How::unresolved;
    std::vector<IpAddress> addresses;       // allowed: all of the host's
    std::optional<AddressRefusal> refusal;  // refused
  };
  using Done = std::function<void(Judgement)>;
  // The host and port as curl will use them ("example.org:443", "[2001:db8::1]:80"). `done` is called before judge returns if
  // nothing has to be asked. A name of which one address is forbidden is refused.
  void judge(const std::string& endpoint, Done done);
  // For an endpoint that its text alone rules out.
  AddressRefusal refusal_of(const std::string& endpoint) const;

 private:
  const std::shared_ptr<const EgressPolicy> policy_;
  HostLookup lookup_;
};

}  // namespace waybill
