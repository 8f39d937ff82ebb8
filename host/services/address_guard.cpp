// Which addresses a request may connect to.
#include "services/address_guard.h"

#include <algorithm>
#include <utility>

#include "egress/tenant_url.h"
#include "services/endpoint.h"

namespace waybill {
namespace {

AddressGuard::Judgement refused(AddressRefusal refusal) {
  return {AddressGuard::Judgement::How::refused, {}, std::move(refusal)};
}

std::optional<IpAddress> literal_in(std::string_view host) {
  return parse_address(host.starts_with('[') ? host.substr(1, host.size() - 2) : host);
}

}  // namespace

void ConnectLeave::reset(Trust trust, std::string_view endpoint) {
  trust_ = trust;
  if (endpoint != endpoint_) {  // most transfers of a handle go to the same one
    port_ = split_authority(endpoint).port;
    endpoint_.assign(endpoint);
  }
  only_.clear();
  refusal_.reset();
}

void ConnectLeave::refuse(std::string address, std::string_view why) {
  if (!refusal_) refusal_ = AddressRefusal{endpoint_, std::move(address), std::string(why)};
}

bool ConnectLeave::passes(const IpAddress& address) {
  const auto why = policy_.refusal(address, port_, trust_);
  if (why) refuse(address.text(), to_string(*why));
  return !why;
}

bool ConnectLeave::may_open(const sockaddr& written) {
  const auto address = address_of(written);
  if (!address) {
    refuse("", "no_address");
    return false;
  }
  if (!passes(*address)) return false;
  if (trust_ == Trust::registry || std::find(only_.begin(), only_.end(), *address) != only_.end()) return true;
  refuse(address->text(), "not_vetted");
  return false;
}

bool ConnectLeave::may_use(std::string_view written) {
  if (trust_ == Trust::registry) return true;  // connections are not shared with tenants, and its rule does not change
  const auto address = parse_address(written);
  if (!address) refuse(std::string(written), "not_vetted");
  return address && passes(*address);
}

AddressGuard::AddressGuard(EventLoop& loop, std::shared_ptr<const EgressPolicy> policy, HostLookup::Resolver resolver)
    : policy_(std::move(policy)), lookup_(loop, std::move(resolver)) {}

void AddressGuard::judge(const std::string& endpoint, Done done) {
  using How = Judgement::How;
  const auto [host, port] = split_authority(endpoint);
  if (!check_tenant_host(host, port, *policy_)) return done(refused(refusal_of(endpoint)));
  if (const auto literal = literal_in(host)) return done({How::allowed, {*literal}, std::nullopt});  // found good just now
  lookup_.find(std::string(host), [policy = policy_, endpoint, port = port, done = std::move(done)](const HostAddresses& found) {
    if (found.answer == HostAddresses::Answer::failed) return done({});
    // A name without an address looks to its tenant like one that leads inside: neither tells which names there are.
    if (found.addresses.empty()) return done(refused({endpoint, "", "no_address"}));
    for (const auto& address : found.addresses)
      if (const auto why = policy->refusal(address, port, Trust::tenant))
        return done(refused({endpoint, address.text(), std::string(to_string(*why))}));
    done({How::allowed, found.addresses, std::nullopt});
  });
}

AddressRefusal AddressGuard::refusal_of(const std::string& endpoint) const {
  const auto [host, port] = split_authority(endpoint);
  const auto literal = literal_in(host);
  const auto why = literal ? policy_->refusal(*literal, port, Trust::tenant) : std::nullopt;
  return {endpoint, literal ? literal->text() : "", std::string(why ? to_string(*why) : "name")};
}

}  // namespace waybill
