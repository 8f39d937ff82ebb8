// The export as a command: its lines go to standard output, and its files are verified.
#include "cli/org_export.h"

#include <nlohmann/json.hpp>

#include "base/printing.h"
#include "cli/given.h"
#include "cli/json_output.h"
#include "cli/progress_line.h"
#include "maintenance/export_file.h"
#include "maintenance/org_export.h"
#include "store/operations/database_check.h"

namespace waybill {
int export_org(const GlobalOptions& options, const ExportOptions& wanted) {
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = quiet_log();
  const auto database = owned_database(*config, log);
  if (!database) return failed(database.error().what);
  const auto store = make_export_store(database->owner);
  ProgressLine progress("rows exported");
  const auto print = [](const std::string& line) -> Result<void> {
    print_line(line);
    if (flush_output()) return {};
    return fail(Error::Kind::unavailable, "standard output cannot be written: what is there is not the whole organisation");
  };
  const auto done = export_organisation(*store, {.name = wanted.org, .actor = actor_of(wanted.actor)}, print,
                                        [&](std::int64_t rows) { progress.show(static_cast<std::uint64_t>(rows), 0); });
  progress.clear();
  if (!done) return failed(done.error().what);
  return 0;
}

int verify_org_file(const GlobalOptions& options, const std::string& file) {
  GivenLines given(file);
  const auto name = given.name();
  if (!given.is_open()) return failed(name + ": cannot be read");
  const auto read = verify_export(given.lines());
  if (!read) return failed(name + ": " + read.error().what);
  if (options.json)
    print_json({{"organisation", read->organisation},
                {"exportedAt", read->exported_at},
                {"program", read->program},
                {"schema", read->schema},
                {"rows", read->rows},
                {"tables", read->tables},
                {"sha256", read->digest}});
  else
    print_line(name + " is whole: organisation " + read->organisation + " as of " + read->exported_at + ", " +
               std::to_string(read->rows) + " rows of " + std::to_string(read->tables.size()) + " tables");
  return 0;
}

}  // namespace waybill
