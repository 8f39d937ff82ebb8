// Tells a lone refusal of a destination that answers many others, such as one 429 in a thousand, from the beginning of an outage.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include "domain/job.h"

namespace waybill {

// For each hundred answers that got through, one refusal is passed over: never two in a row, none that says when to come back
// (Retry-After), and none of a target in an outage. One thread at a time. Keeps some bytes for each target with answers of late.
class LoneRefusals {
 public:
  // Those of a batch, which is in the order in which they finished. To be asked once for each batch.
  std::unordered_set<const Finished*> of(std::span<const Finished> batch);

 private:
  struct Target {
    std::size_t through = 0;  // that are not yet used up by a refusal
    bool refused_last = false;
    Timestamp last_through{};
  };
  static bool passes_over(Target& target, const Finished& refusal);

  std::map<std::pair<OrgId, std::string>, Target> targets_;
};

}  // namespace waybill
