// The demo's submissions of pipelines: a verification, and staged jobs that begin with a form.
#pragma once

#include <string>

#include "support/fake_gateway.h"
#include "support/http_client.h"

namespace waybill::testing {

// True if each ended as expected.
bool show_pipelines(HttpClient& client, FakeGateway& gateway, const std::string& run);

}  // namespace waybill::testing
