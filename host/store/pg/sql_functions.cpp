// Comparing hashes, and creating all functions anew when they differ.
#include "store/pg/sql_functions.h"

#include "base/embedded_file.h"
#include "domain/idempotency.h"
#include "store/pg/migrations.sql.h"

namespace waybill {
std::span<const EmbeddedFile> function_files();

SqlFunctions embedded_functions() {
  SqlFunctions all;
  for (const auto& file : function_files()) all.sql.append(file.text).append("\n");
  all.hash = to_hex(as_view(sha256(all.sql)));
  return all;
}

Result<void> bring_up_to_date(Connection& connection, const DatabaseAddress& address, const SqlFunctions& functions,
                              const ReportWait& report) {
  const auto known = connection.run(sql::functions_hash);
  TRY(known);
  if (!known->empty() && known->front().hash() == functions.hash) return {};
  const auto there = with_short_locks(
      connection, address,
      [&]() -> Result<void> {
        // A function may name one that comes later, and finds tables where it is, whatever the schema is called.
        TRY(connection.script("SET LOCAL check_function_bodies = off; SET LOCAL search_path TO " +
                              quoted_identifier(address.schema) + ", pg_temp;\n" + functions.sql + "SELECT apply_access()"));
        TRY(connection.run(sql::note_functions, {functions.hash}));
        return {};
      },
      report);
  if (!there) return fail(there.error().kind, "schema/functions: " + there.error().what);
  return {};
}

}  // namespace waybill
