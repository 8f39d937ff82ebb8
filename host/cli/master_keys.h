// The master keys that the configuration names, for commands that seal.
#pragma once

#include <memory>

#include "config/config.h"
#include "services/secrets.h"

namespace waybill {

// Null: a secret cannot be read, and it is printed which. Without notify.key it is a vault without a key.
std::shared_ptr<const Vault> configured_vault(const Config& config);

}  // namespace waybill
