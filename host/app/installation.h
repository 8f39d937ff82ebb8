// What every command begins with: the configuration, its database, its plugins and registry; and how problems are printed.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "registry/registry.h"
#include "senders/catalogue.h"
#include "services/transports.h"
#include "store/embedded_postgres.h"
#include "store/pg.h"
#include "store/read_store.h"
#include "telemetry/log.h"

namespace waybill {

struct GlobalOptions {
  std::filesystem::path config;  // --config, or WAYBILL_CONFIG, or ./waybill.yaml if there is one; "" for none
  bool json = false;             // --json
};

inline constexpr std::size_t kMaxPrintedProblems = 100;
// Prints problems on standard error, one a line, the first kMaxPrintedProblems of them and how many more there are.
void print(const Problems& problems, std::string_view before = {});
// Prints "waybill: <what>" on standard error and returns the exit code 1.
int failed(const std::string& what);
// Prints on standard error whom a change of the schema waits for.
void report_wait(const std::string& who);

// The configuration, or what is wrong with it.
tl::expected<Config, Problems> read_configuration(const GlobalOptions& options);
// The same; none after printing what is wrong with it.
std::optional<Config> configuration(const GlobalOptions& options);

Log make_log(const Config& config);  // for serve
Log quiet_log();                     // for the other commands: only what went wrong

// The database, with its private server running while this lives.
struct Database {
  std::unique_ptr<EmbeddedPostgres> server;  // null when the database is somebody else's
  std::shared_ptr<SessionWatch> watch;       // of all sessions with it
  DatabaseAddress address;
  DatabaseAddress owner;  // as whom the schema is changed; the same unless database.owner_url is set
};
Result<Database> open_database(const Config& config, Log& log);

// An error unless this program may use the schema as it is.
Result<void> check_schema(const Database& database);

// A database to read from, or to act on, as one organisation; its schema is checked.
struct Reading {
  Database database;
  std::unique_ptr<ReadStore> store;
  OrgId org;
};
Result<Reading> open_reading(const Config& config, const std::string& org, Log& log);

// Applies missing migrations if the configuration says so. An error unless there are none then.
Result<void> ready_schema(const Config& config, const Database& database, Log& log);
// Both at once: a command's database, its schema brought up to date or checked.
Result<Database> ready_database(const Config& config, Log& log);

// Everything about plugins and registry that can be wrong without a database, in order of loading. A start tolerates what needs
// a plugin that is not there: one refused plugin must not stop the others' work.
enum class MissingPluginPolicy { refuse, tolerate };
struct LoadedInstallation {
  std::unique_ptr<Catalogue> catalogue;
  std::optional<Registry> registry;  // none when there are problems with it
  Problems problems;
  Problems absent;                         // when tolerated: what names an action type that no loaded plugin has
  std::optional<Transports> transports{};  // none when there are problems
  Problems warnings{};
};
LoadedInstallation load_installation(const Config& config, MissingPluginPolicy absent = MissingPluginPolicy::refuse);

// What a plugin does to a process that loads this installation, found out in a child process: "killed by SIGSEGV: ..."; "" if
// nothing. Plugins that do it while they are loaded are refused one by one and harm nobody; here it is those that check a target.
std::string harm_of(const Config& config);

// What the configuration and a registry ask of each other: the targets that it names, and settings for every sender that is
// named.
Problems check_registry(const Config& config, const ActionTypes& types, const Registry& registry);

}  // namespace waybill
