// `waybill roles`: sets up the database's roles and says what they may do and what comes next.
#include "store/pg/roles.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printing.h"
#include "cli/commands.h"
#include "cli/json_output.h"

namespace waybill {
namespace {

void print_roles(const RoleSetup& done, const std::string& schema) {
  const auto line = [&](const std::string& role, const char* what) {
    const bool created = std::find(done.created.begin(), done.created.end(), role) != done.created.end();
    print_text("%-24s %-8s %s\n", role.c_str(), created ? "created" : "is there", what);
  };
  line(done.owner, "owns the tables; changes the schema; cannot update or delete attempts and audit");
  line(done.roles.application, "for hosts: reads and writes what they need; attempts and audit: reads and adds");
  line(done.roles.reader, "reads everything but what was purged and the hashes of tokens; writes nothing");
  line(done.roles.tenant, "as whom hosts work for one organisation: sees and writes its rows only");
  print_text("\nrights are set in schema %s. What is left to do, where it is not done yet:\n", schema.c_str());
  print_text("  GRANT %s TO <the role that hosts log in as>;   -- and that role in database.url\n",
             quoted_identifier(done.roles.application).c_str());
  print_text("  GRANT %s TO <each role of people or tools that look at the data>;\n",
             quoted_identifier(done.roles.reader).c_str());
}

}  // namespace

int give_roles(const GlobalOptions& options, const std::string& application, const std::string& reader,
               const std::string& tenant) {
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = quiet_log();
  const auto database = open_database(*config, log);
  if (!database) return failed(database.error().what);
  const auto named = [](const std::string& name) { return name.empty() ? std::nullopt : std::optional(name); };
  const auto done = set_up_roles(database->owner, named(application), named(reader), report_wait, named(tenant));
  if (!done) return failed(done.error().what);
  if (options.json)
    print_json({{"owner", done->owner},
                {"application", done->roles.application},
                {"reader", done->roles.reader},
                {"tenant", done->roles.tenant},
                {"created", done->created}});
  else
    print_roles(*done, config->database.schema);
  return 0;
}

}  // namespace waybill
