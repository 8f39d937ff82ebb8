// From the configuration's references to a vault.
#include "cli/master_keys.h"

#include "cli/commands.h"

namespace waybill {

std::shared_ptr<const Vault> configured_vault(const Config& config) {
  const auto secrets = Secrets::resolve(config.secrets, config.file.string());
  if (secrets) return vault_of(*secrets, config.notify.key);
  print(secrets.error());
  return nullptr;
}

}  // namespace waybill
