// The story of a notification: two events of one rule that two channels get as one delivery each.
#pragma once

#include <string>

#include "support/fake_gateway.h"
#include "support/http_client.h"

namespace waybill::testing {

bool show_notifications(HttpClient& client, FakeGateway& gateway, const std::string& run);

}  // namespace waybill::testing
