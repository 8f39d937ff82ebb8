// The import as a command: the file, the master key for channels, and what is left to do by hand.
#include "cli/org_import.h"

#include <nlohmann/json.hpp>

#include "base/printing.h"
#include "cli/given.h"
#include "cli/json_output.h"
#include "cli/master_keys.h"
#include "cli/progress_line.h"
#include "maintenance/org_import.h"
#include "store/operations/database_check.h"

namespace waybill {
namespace {

Json json_of(const OrgImported& done, bool is_dry_run) {
  return {{"organisation", done.name},
          {"id", done.org.value},
          {"from",
           {{"organisation", done.from.name},
            {"id", done.from.org.value},
            {"exportedAt", done.from.exported_at},
            {"program", done.from.program}}},
          {"sha256", done.file.digest},
          {"rows", done.file.rows},
          {"tables", done.file.tables},
          {"open", done.open},
          {"disabled", done.is_disabled},
          {"channels", done.channels},
          {"dryRun", is_dry_run}};
}

void print_done(const OrgImported& done, bool is_dry_run) {
  print_line("organisation " + done.name + (is_dry_run ? " would be imported: " : " is imported: ") +
             std::to_string(done.file.rows) + " rows of " + std::to_string(done.file.tables.size()) + " tables, " +
             std::to_string(done.open) + " deliveries open");
  if (done.org == done.from.org)
    print_line("it keeps its number, " + std::to_string(done.org.value) + ": receivers know what they have had by its key");
  else if (is_dry_run)
    print_line("it would get another number than " + std::to_string(done.from.org.value) + ", which is or was another's here");
  else
    print_line("its number is " + std::to_string(done.org.value) + ", as " + std::to_string(done.from.org.value) +
               " is or was another's here: what is sent again has other keys than before");
  if (done.is_disabled) print_line("it is disabled, as it was: `waybill org enable " + done.name + "` enables it");
  print_line("tokens are not in the file: make some with `waybill token create --org " + done.name + "`");
  for (const auto& channel : done.channels)
    print_line("channel " + channel + " is disabled: rotate its secret, give the receiver the new one, then enable it");
}

}  // namespace

int import_org(const GlobalOptions& options, const ImportOptions& wanted) {
  GivenLines file(wanted.file);
  if (!file.is_open()) return failed(file.name() + ": cannot be read");
  const auto config = configuration(options);
  if (!config) return 1;
  const auto vault = configured_vault(*config);
  if (!vault) return 1;
  Log log = quiet_log();
  const auto database = owned_database(*config, log);
  if (!database) return failed(database.error().what);
  const auto store = make_import_store(database->owner, vault);
  ProgressLine progress("rows imported");
  const auto done =
      import_organisation(*store, {.name = wanted.name, .actor = actor_of(wanted.actor), .is_rehearsal = wanted.dry_run},
                          file.lines(), [&](std::int64_t rows) { progress.show(static_cast<std::uint64_t>(rows), 0); });
  progress.clear();
  if (!done) return failed(file.name() + ": " + done.error().what + "; nothing of it is imported");
  if (options.json)
    print_json(json_of(*done, wanted.dry_run));
  else
    print_done(*done, wanted.dry_run);
  return 0;
}

}  // namespace waybill
