// Which secrets settings and targets ask for by name, as far as their texts show it.
#pragma once

#include "config/config.h"
#include "registry/registry.h"

namespace waybill {

// Those that `secrets` does not have, each where it is named: `{secret:NAME}` in any text, and the values of fields called
// `secret`, or something ending in `_secret` or `Secret`. What a plugin composes by itself shows when it is sent.
Problems unknown_secrets(const Config& config, const Registry& registry);

}  // namespace waybill
