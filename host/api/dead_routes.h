// The administrators' routes of dead letters: find, look, mend, replay, clone. F10 of the requirements.
#pragma once

#include <vector>

#include "api/form_routes.h"

namespace waybill {

// The parts must outlive every request.
std::vector<Route> dead_routes(FormParts parts);

}  // namespace waybill
