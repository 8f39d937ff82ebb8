// `waybill keys`: seals the organisations' data keys with the newest master key, or gives up those whose master key is lost.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printing.h"
#include "cli/caller.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/master_keys.h"
#include "cli/progress_line.h"
#include "store/organisations/org_keys.h"
#include "store/pg_stores.h"

namespace waybill {

// Each key is a statement of its own: hosts go on working, and what is done is done if this is interrupted.
int rewrap_keys(const GlobalOptions& options) {
  constexpr std::size_t kAtOnce = 500;
  const auto config = configuration(options);
  if (!config) return 1;
  const auto vault = configured_vault(*config);
  if (!vault) return 1;
  if (!vault->has_key()) return failed("notify.key names no secret: there is no master key");
  Log log = quiet_log();
  const auto database = fit_database(*config, log);
  if (!database) return failed(database.error().what);
  const auto store = make_notify_store(database->address, 1, {.vault = vault, .debounce = {}, .secret_grace = {}});
  ProgressLine progress("data keys sealed anew");
  std::size_t sealed = 0;
  for (;;) {
    progress.show(sealed, 0);
    const auto some = store->rewrap(kAtOnce);
    if (!some) return failed(some.error().what + "; " + std::to_string(sealed) + " keys are done, run it again for the others");
    if (*some == 0) break;
    sealed += *some;
  }
  progress.clear();
  if (options.json)
    print_json({{"rewrapped", sealed}, {"master", vault->newest()}});
  else
    print_text("%zu data keys sealed anew; all are sealed with the newest master key (%s)\n", sealed, vault->newest().c_str());
  return 0;
}

namespace {

void print_lost(const std::vector<LostKey>& lost) {
  for (const auto& key : lost)
    print_text("master key %s: organisation %s, %zu channel(s)\n", key.master.c_str(), key.org_name.c_str(), key.channels);
  if (lost.empty()) return print_line("none is lost: notify.key names every master key that is in use");
  print_line(
      "Give notify.key these master keys. If one is lost for good, `waybill keys give-up --master NAME` gives up the secrets "
      "that "
      "it sealed: it disables their channels, until each organisation has rotated the secret and enabled the channel again");
}

}  // namespace

int give_up_keys(const GlobalOptions& options, const std::string& master) {
  const auto config = configuration(options);
  if (!config) return 1;
  const auto vault = configured_vault(*config);
  if (!vault) return 1;
  if (!master.empty() && !vault->has_key()) return failed("notify.key names no secret: there is no master key to seal with");
  Log log = quiet_log();
  const auto database = fit_database(*config, log);
  if (!database) return failed(database.error().what);
  const auto store = make_notify_store(database->address, 1, {.vault = vault, .debounce = {}, .secret_grace = {}});
  auto lost = store->lost_keys();
  if (!lost) return failed(lost.error().what);
  if (!master.empty()) {
    std::erase_if(*lost, [&](const LostKey& key) { return key.master != master; });
    if (lost->empty()) return failed("nothing is sealed with a lost master key \"" + master + "\"");
  }
  Json json = Json::array();
  for (auto& key : *lost) {
    if (!master.empty()) {
      const auto given_up = store->give_up(key, caller());
      if (!given_up) return failed(given_up.error().what + "; run it again for what is left");
      key.channels = *given_up;
      if (!options.json)
        print_text("organisation %s: the secrets of %zu channel(s) are given up\n", key.org_name.c_str(), key.channels);
    }
    json.push_back({{"master", key.master}, {"org", key.org_name}, {"channels", key.channels}});
  }
  if (options.json)
    print_json(json);
  else if (master.empty())
    print_lost(*lost);
  return 0;
}

}  // namespace waybill
