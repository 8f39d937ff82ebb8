// URLs that tenants write, and the addresses and ranges in them.
#include "egress/tenant_url.h"

#include "fuzz/fuzz.h"
#include "services/endpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  static const EgressPolicy kPolicy({}, [] { return std::vector<IpAddress>{}; });
  const auto text = fuzz::text_of(data, size);
  if (check_tenant_url(text, kPolicy)) {
    const auto endpoint = parse_endpoint(text, {"http", "https"});
    fuzz::promise(endpoint.has_value(), "a URL that passes is one for curl");
    const auto [host, port] = split_authority(endpoint->authority);
    fuzz::promise(check_tenant_host(host, port, kPolicy).has_value(), "curl calls a host that passes");
  }
  if (const auto address = parse_address(text))
    fuzz::promise(parse_address(address->text()) == address, "an address is written as it is read");
  if (const auto range = parse_range(text)) fuzz::promise(range->contains(range->base), "a range contains its base");
  if (const auto v4 = parse_resolver_v4(text))
    fuzz::promise(parse_resolver_v4(v4->text()) == v4, "what a resolver reads is an address");
  static_cast<void>(parse_egress_exception(text));
  return 0;
}
