// Commands that work on the database, whether a host runs or not.
#pragma once

#include <functional>

#include "app/installation.h"
#include "store/pg_stores.h"

namespace waybill {

// Opens the database. `act` returns the exit code; without a database it is 1, and the reason is printed.
inline int on_database(const GlobalOptions& options, const std::function<int(const Config&, const DatabaseAddress&)>& act) {
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = quiet_log();
  const auto database = fit_database(*config, log);
  return database ? act(*config, database->address) : failed(database.error().what);
}

// The same as one organisation.
inline int on_organisation(const GlobalOptions& options, const std::string& org,
                           const std::function<int(const Config&, const Reading&)>& act) {
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = quiet_log();
  const auto reading = open_reading(*config, org, log);
  return reading ? act(*config, *reading) : failed(reading.error().what);
}

// Ids as the API shows them, and numbers. Whoever may not read the key names numbers.
inline PublicIds ids_in_commands(const DatabaseAddress& address) {
  return read_public_ids(address).value_or(PublicIds{}).taking_any_number();
}

}  // namespace waybill
