// All routes of the host in one table. docs/openapi.yaml describes them; a test holds the two against each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/admin_routes.h"
#include "api/form_routes.h"
#include "api/intent_routes.h"

namespace waybill {

struct Surfaces {
  IntentParts intents;
  FormParts forms;
  Reload reload;
  std::function<std::string()> not_ready;
  std::function<std::string()> closed;  // why nothing is taken in or told any more, beside health and numbers; "" while it is
};

inline constexpr Millis kOperatorsTime{60'000};  // beyond timeouts.answer, for what only operators ask

std::vector<Route> all_routes(Surfaces surfaces);

}  // namespace waybill
