// One HTTP connection of the server over loopback, on the calling thread alone.
#pragma once

#include <string>

namespace waybill::guard {

inline constexpr int kExchanges = 20;

// Sends kExchanges requests with this body down one connection, then counts what the server does until it has answered them all.
// How many answers are good.
int exchange_over_http(const std::string& body);

}  // namespace waybill::guard
