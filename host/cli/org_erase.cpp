// The erasure as a command: what is asked before it, and where its certificate goes.
#include "cli/org_erase.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/given.h"
#include "cli/json_output.h"
#include "cli/progress_line.h"
#include "maintenance/org_erasure.h"
#include "store/operations/database_check.h"

namespace waybill {
namespace {

namespace fs = std::filesystem;

// Before anything is erased: afterwards it would be late to say that the certificate cannot be written.
Result<void> check_certificate_file(const fs::path& file) {
  std::error_code error;
  if (fs::exists(file, error)) return fail(Error::Kind::invalid, file.string() + " is there already: name a new file");
  const auto folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error) || ::access(folder.c_str(), W_OK) != 0)
    return fail(Error::Kind::invalid, folder.string() + " is no folder that you may write to");
  return {};
}

Result<void> write_certificate(const fs::path& file, const Json& certificate) {
  std::ofstream out(file);
  out << certificate.dump(2) << "\n";
  out.close();
  if (out) return {};
  return fail(Error::Kind::unavailable,
              "it is erased, and " + file.string() +
                  " could not be written; run the command again with another file: the audit has the certificate");
}

}  // namespace

int erase_org(const GlobalOptions& options, const EraseOptions& wanted) {
  if (wanted.confirmed != wanted.org)
    return failed("--confirm must be the name \"" + wanted.org + "\": nothing brings an erased organisation back");
  if (const auto fit = check_certificate_file(wanted.certificate); !fit) return failed(fit.error().what);
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = quiet_log();
  const auto database = owned_database(*config, log);
  if (!database) return failed(database.error().what);
  const auto store = make_erasure_store(database->owner);
  ProgressLine progress("rows erased");
  const auto done = erase_organisation(*store, {.name = wanted.org, .actor = actor_of(wanted.actor)},
                                       [&](std::int64_t rows) { progress.show(static_cast<std::uint64_t>(rows), 0); });
  progress.clear();
  if (!done) return failed(done.error().what);
  const auto certificate = our_json(*done);
  if (const auto written = write_certificate(wanted.certificate, certificate); !written) return failed(written.error().what);
  if (options.json) {
    print_json(certificate);
    return 0;
  }
  print_line("organisation " + wanted.org + " is erased: " + std::to_string(certificate.at("rows").get<std::int64_t>()) +
             " rows of " + std::to_string(certificate.at("tables").size()) + " tables; " + wanted.certificate +
             " says which, and what remains");
  return 0;
}

}  // namespace waybill
