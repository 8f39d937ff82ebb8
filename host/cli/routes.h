// All routes of the host in one table. docs/openapi.yaml describes them; a test holds the two against each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/intent_routes.h"

namespace waybill {

std::vector<Route> all_routes(const IntentParts& parts, std::function<std::string()> not_ready);

}  // namespace waybill
