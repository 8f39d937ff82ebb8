// The limits on an attempt's time, which several hands set: where one cuts another short.
#pragma once

#include "base/problem.h"
#include "config/config.h"
#include "registry/registry.h"

namespace waybill {

// Targets whose attempts a claim's lease would cut.
Problems time_limit_problems(const Config& config, const Registry& registry);
// Limits that have no effect because a shorter one cuts them.
Problems time_limit_warnings(const Config& config, const Registry& registry);

}  // namespace waybill
