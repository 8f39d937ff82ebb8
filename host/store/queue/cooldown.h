// A target's outage and cooldown, as intake, claim and settlement see it.
#pragma once

#include <string>

#include "base/id.h"
#include "base/time.h"

namespace waybill {

// Until `until` no host claims anything of the target. The end of a cooldown does not end the outage; an attempt that gets
// through does. One that is of this host alone stops no other: it found no way to the target, and nobody has confirmed that.
struct Cooldown {
  OrgId org;
  std::string target;
  Timestamp until;
  std::string reason;
  Timestamp since{};  // when the outage began
  bool of_this_host = false;

  bool operator==(const Cooldown&) const = default;
};

}  // namespace waybill
