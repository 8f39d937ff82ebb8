// Commands that work on the database, whether a host runs or not.
#pragma once

#include <functional>

#include "app/installation.h"

namespace waybill {

// Opens the database. `act` returns the exit code; without a database it is 1, and the reason is printed.
inline int on_database(const GlobalOptions& options, const std::function<int(const Config&, const DatabaseAddress&)>& act) {
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = quiet_log();
  const auto database = fit_database(*config, log);
  return database ? act(*config, database->address) : failed(database.error().what);
}

}  // namespace waybill
