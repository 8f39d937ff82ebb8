// Which client a request behind a reverse proxy comes from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "egress/ip_address.h"

namespace waybill::http {

bool is_trusted(std::string_view address, const std::vector<AddressRange>& proxies);

// The client's address. `address` is the one that the connection came from; `forwarded` the values of all X-Forwarded-For
// headers, joined with commas. Each proxy adds the address that it saw at the right end, so addresses are believed from the
// right, as long as trusted proxies wrote them. What is no address ends that.
std::string client_address(std::string_view address, std::string_view forwarded, const std::vector<AddressRange>& proxies);

}  // namespace waybill::http
