// Whether a tenant may name a URL: what can be told from its text. Pure, but for the policy's knowledge of this host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "egress/egress_policy.h"

namespace waybill {

inline constexpr std::size_t kMaxTenantUrlBytes = 8 << 10;

// Checks an http or https URL that an organisation wrote, when it is saved and again when it is called. A literal address is
// judged as what a resolver makes of it (127.1, 0177.0.0.1, 2130706433, [::ffff:7f00:1]), and names that lead inside are refused
// (localhost, *.local, *.internal, names of one label). Other names are not resolved here: the address guard does that with
// every call, because what a name means changes. An error is Error::invalid; its text is for the tenant and tells nothing of the
// inside: whatever is about an address or a name says "the URL is not allowed".
Result<void> check_tenant_url(std::string_view url, const EgressPolicy& policy);

// The same for the host and port of a destination that has no URL of HTTP. IPv6 addresses stand in brackets.
Result<void> check_tenant_host(std::string_view host, std::uint16_t port, const EgressPolicy& policy);

}  // namespace waybill
