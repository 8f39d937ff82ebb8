// How the installation's connections to the outside are secured: read, checked, and what an operator should know of it.
#pragma once

#include <optional>

#include "config/config.h"
#include "registry/registry.h"
#include "services/secrets.h"
#include "services/transports.h"

namespace waybill {

struct Outgoing {
  std::optional<Transports> transports;  // none when there are problems
  Problems problems;                     // files that cannot be used; secrets that would go out in clear
  Problems warnings;                     // what the operator allowed, and certificates that have expired
};
Outgoing check_outgoing(const Config& config, const Registry& registry, const Secrets& secrets);

}  // namespace waybill
