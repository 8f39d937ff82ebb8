// Defaults of an earlier version.
#include "store/operations/kept_defaults.sql.h"
#include "store/pg_stores.h"

namespace waybill {

Result<bool> keeps_plugins_in_host(const DatabaseAddress& address) {
  Link link(address, "defaults");
  const auto rows = link.run(sql::kept_plugin_isolation);
  TRY(rows);
  return !rows->empty() && rows->front().value() == "in_process";
}

}  // namespace waybill
