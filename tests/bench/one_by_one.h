// Intents one at a time, on an idle system.
#pragma once

#include <vector>

#include "bench/host.h"
#include "bench/measures.h"

namespace waybill::bench {

struct Times {  // ms
  std::vector<double> to_gateway, to_answer;
};

// Each intent is handed in after the last one has ended; `settings`: of the host.
Times one_by_one(const Bench& bench, const Settings& settings);

}  // namespace waybill::bench
