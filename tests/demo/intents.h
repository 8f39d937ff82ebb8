// One intent of each kind, with a gateway that takes, refuses or fails it as its story needs.
#pragma once

#include <string>

#include "support/fake_gateway.h"
#include "support/http_client.h"

namespace waybill::testing {

// Hands them in, waits for their ends and prints their attempts; true if all ended as expected. `run` makes their ids unique.
bool show_intents(HttpClient& client, FakeGateway& gateway, const std::string& run);

}  // namespace waybill::testing
