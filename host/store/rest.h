// A target that rests, as intake, claim and settlement know it.
#pragma once

#include <string>

#include "core/id.h"
#include "core/time.h"

namespace waybill {

// A target that rests after an outage: nothing of it is claimed until then, by any host.
struct Rest {
  OrgId org;
  std::string target;
  Timestamp until;
  std::string reason;

  bool operator==(const Rest&) const = default;
};

}  // namespace waybill
