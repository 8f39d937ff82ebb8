// Everything left of the last address that a stranger could have written is the stranger's word.
#include "http/forwarded.h"

#include <algorithm>

#include "http/field_value.h"

namespace waybill::http {
namespace {

// Some proxies write "192.0.2.1:4711" or "[2001:db8::1]:4711".
std::string_view without_port(std::string_view address) {
  if (address.starts_with('[')) return address.substr(1, std::max<std::size_t>(address.find(']'), 1) - 1);
  const auto colon = address.find(':');
  return colon != std::string_view::npos && address.find(':', colon + 1) == std::string_view::npos ? address.substr(0, colon)
                                                                                                   : address;
}

}  // namespace

bool is_trusted(std::string_view address, const std::vector<AddressRange>& proxies) {
  const auto parsed = parse_address(address);
  return parsed &&
         std::any_of(proxies.begin(), proxies.end(), [&](const AddressRange& range) { return range.contains(*parsed); });
}

std::string client_address(std::string_view address, std::string_view forwarded, const std::vector<AddressRange>& proxies) {
  std::string_view client = address;
  while (!forwarded.empty() && is_trusted(client, proxies)) {
    const auto comma = forwarded.rfind(',');
    const auto last = without_port(trimmed(comma == std::string_view::npos ? forwarded : forwarded.substr(comma + 1)));
    forwarded = comma == std::string_view::npos ? std::string_view{} : forwarded.substr(0, comma);
    if (!parse_address(last)) break;
    client = last;
  }
  return std::string(client);
}

}  // namespace waybill::http
