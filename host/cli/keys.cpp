// `waybill keys rewrap`: seals the organisations' data keys with the newest master key.
#include <nlohmann/json.hpp>

#include "base/printing.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "services/secrets.h"
#include "store/pg_stores.h"

namespace waybill {

// Each key is a statement of its own: hosts go on working, and what is done is done if this is interrupted.
int rewrap_keys(const GlobalOptions& options) {
  constexpr std::size_t kAtOnce = 500;
  const auto config = configuration(options);
  if (!config) return 1;
  const auto secrets = Secrets::resolve(config->secrets, config->file.string());
  if (!secrets) {
    print(secrets.error());
    return 1;
  }
  const auto vault = vault_of(*secrets, config->notify.key);
  if (!vault->has_key()) return failed("notify.key names no secret: there is no master key");
  Log log = quiet_log();
  const auto database = open_database(*config, log);
  if (!database) return failed(database.error().what);
  if (const auto checked = check_schema(*database); !checked) return failed(checked.error().what);
  const auto store = make_notify_store(database->address, 1, {.vault = vault, .debounce = {}, .secret_grace = {}});
  std::size_t sealed = 0;
  for (;;) {
    const auto some = store->rewrap(kAtOnce);
    if (!some) return failed(some.error().what + "; " + std::to_string(sealed) + " keys are done, run it again for the others");
    if (*some == 0) break;
    sealed += *some;
  }
  if (options.json)
    print_json({{"rewrapped", sealed}, {"master", vault->newest()}});
  else
    print_text("%zu data keys sealed anew; all are sealed with the newest master key (%s)\n", sealed, vault->newest().c_str());
  return 0;
}

}  // namespace waybill
