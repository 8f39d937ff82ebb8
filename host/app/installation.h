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
#include "services/secrets.h"
#include "services/transports.h"
#include "store/pg/embedded_postgres.h"
#include "store/pg/pg.h"
#include "store/submissions/read_store.h"
#include "telemetry/log.h"

namespace waybill {

struct GlobalOptions {
  std::filesystem::path config;  // --config; "": see configuration_file()
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
// Only `migrate` and `serve` make the private database where there is none; other commands say what to run.
enum class NoDatabasePolicy { refuse, make };
Result<Database> open_database(const Config& config, Log& log, NoDatabasePolicy none = NoDatabasePolicy::refuse);

// An error, with what to run, unless this program may use the schema as it is. Changes nothing.
Result<void> check_schema(const Database& database);
// Both at once: the database of a command that changes no schema.
Result<Database> fit_database(const Config& config, Log& log);
// The same of a command that works as the tables' owner.
Result<Database> owned_database(const Config& config, Log& log);

// A database to read from, or to act on, as one organisation; its schema is checked.
struct Reading {
  Database database;
  std::unique_ptr<ReadStore> store;
  OrgId org;
  int shards = 0;
};
Result<Reading> open_reading(const Config& config, const std::string& org, Log& log);

// For `serve`: applies missing migrations if the configuration says so. An error unless there are none then.
Result<void> ready_schema(const Config& config, const Database& database, Log& log);

// What is wrong with the settings of one sender, where it is set.
Problems sender_problems(const Config& config, const ActionTypes& types, const std::string& type);

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
  std::string registry_digest{};
};
LoadedInstallation load_installation(const Config& config, MissingPluginPolicy absent = MissingPluginPolicy::refuse);

// The rate of a target in the registry as it is on disk; where it is not there, that of a contract.
std::optional<Rate> rate_in_force(const Config& config, const ActionTypes& types, const std::string& target,
                                  const std::optional<Rate>& of_contract);

// What a plugin does to a process that loads this installation, found out in a child process: "killed by SIGSEGV: ..."; "" if
// nothing. Plugins that do it while they are loaded are refused one by one and harm nobody; here it is those that check a target.
std::string harm_of(const Config& config);

// The registry on disk, held against plugins, configuration and secrets: the one rule by which a start, a reload and a check take
// it or refuse it.
struct FoundRegistry {
  std::optional<Registry> registry;  // none when there are problems with it
  Problems problems;
  Problems absent;  // when tolerated: what names an action type that no plugin serves, or that has no settings
  Problems warnings;
  std::optional<Transports> transports;  // none when there are problems
  std::string digest;                    // see registry_digest()
};
std::string digest_on_disk(const Config& config);  // of its files as they are now
// `secrets`: null, if they cannot be read.
FoundRegistry find_registry(const Config& config, const ActionTypes& types, const Secrets* secrets, MissingPluginPolicy absent);

}  // namespace waybill
