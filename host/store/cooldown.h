// A target that cooldowns, as intake, claim and settlement know it.
#pragma once

#include <string>

#include "base/id.h"
#include "base/time.h"

namespace waybill {

// A target in an outage, and its cooldown: nothing of it is claimed until then, by any host. A cooldown that is over leaves the
// outage as it is, until an attempt gets through.
struct Cooldown {
  OrgId org;
  std::string target;
  Timestamp until;
  std::string reason;
  Timestamp since{};  // when the outage began

  bool operator==(const Cooldown&) const = default;
};

}  // namespace waybill
