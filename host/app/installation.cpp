// Loading an installation.
#include "app/installation.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>

#include "app/outgoing.h"
#include "base/printing.h"
#include "http/tls.h"
#include "senders/plugin_trial.h"
#include "services/gcs_links.h"
#include "services/secrets.h"
#include "store/migrations.h"
#include "store/pg_stores.h"
#include "store/session_watch.h"

extern char** environ;

namespace waybill {

void print(const Problems& problems, std::string_view before) {
  constexpr std::size_t kMaxLine = 2000;  // bytes
  for (std::size_t i = 0; i < std::min(problems.size(), kMaxPrintedProblems); ++i) {
    const auto line = to_string(problems[i]);
    print_error("%s%s%s\n", std::string(before).c_str(), line.substr(0, kMaxLine).c_str(), line.size() > kMaxLine ? "..." : "");
  }
  if (problems.size() > kMaxPrintedProblems) print_error("and %zu more of such lines\n", problems.size() - kMaxPrintedProblems);
}

int failed(const std::string& what) {
  print_error("waybill: %s\n", what.c_str());
  return 1;
}

void report_wait(const std::string& who) {
  print_error("waybill: waiting for a lock, and trying again without holding up others: in the way is %s\n", who.c_str());
}

std::optional<Config> configuration(const GlobalOptions& options) {
  std::filesystem::path file = options.config;
  if (file.empty())
    if (const char* named = std::getenv("WAYBILL_CONFIG")) file = named;
  if (file.empty() && std::filesystem::exists("waybill.yaml")) file = "waybill.yaml";
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
  auto config = load_config(file, environment);
  if (config) return std::move(*config);
  print(config.error());
  return std::nullopt;
}

Log make_log(const Config& config) {
  const auto level = config.log_level == "debug"   ? Log::Level::debug
                     : config.log_level == "warn"  ? Log::Level::warn
                     : config.log_level == "error" ? Log::Level::error
                                                   : Log::Level::info;
  const bool pretty = config.log_format == "pretty" || (config.log_format == "auto" && isatty(2));
  return Log(level, pretty ? Log::Format::pretty : Log::Format::json);
}

Log quiet_log() { return Log(Log::Level::warn, isatty(2) ? Log::Format::pretty : Log::Format::json); }

Result<Database> open_database(const Config& config, Log& log) {
  Database database{.server = nullptr,
                    .watch = nullptr,
                    .address = {config.database.url, config.database.schema, config.database.timeouts},
                    .owner = {}};
  if (config.database.url.empty()) {
    auto server = EmbeddedPostgres::start(config.database.embedded, log);
    TRY(server);
    database.server = std::move(*server);
    database.address.url = database.server->url();
  }
  database.watch = std::make_shared<SessionWatch>();
  database.address.watch = database.watch;
  database.owner = database.address;
  if (!config.database.owner_url.empty()) database.owner.url = config.database.owner_url;
  return database;
}

Result<void> check_schema(const Database& database) {
  const auto state = schema_state(database.address);
  TRY(state);
  return refuse_unfit(*state);
}

Result<Reading> open_reading(const Config& config, const std::string& org, Log& log) {
  auto database = open_database(config, log);
  TRY(database);
  TRY(check_schema(*database));
  const auto shards = read_shards(database->address);
  TRY(shards);
  auto store = make_read_store(database->address, *shards);
  const auto id = store->organisation(org);
  TRY(id);
  if (!*id) return fail(Error::Kind::not_found, "there is no organisation \"" + org + "\"");
  return Reading{std::move(*database), std::move(store), **id};
}

Result<void> ready_schema(const Config& config, const Database& database, Log& log) {
  if (config.database.migrate) {
    const auto applied = migrate(database.owner, [&](const std::string& who) {
      log.warn("database.migration_waits", {{"for", who}});
    });
    TRY(applied);
    for (const auto& migration : *applied) log.info("database.migrated", {{"migration", migration}});
  }
  const auto state = schema_state(database.address);
  TRY(state);
  if (!state->is_too_old() || !config.database.migrate) return refuse_unfit(*state);
  const std::string versions = "the database schema is at version " + std::to_string(state->database) + ", this program needs " +
                               std::to_string(state->program);
  return fail(Error::Kind::invalid,
              "seen through database.url " + versions +
                  "; through database.owner_url it is there. Run `waybill roles`, make the role of "
                  "database.url a member of the application role, and see that both name the same database");
}

Result<Database> ready_database(const Config& config, Log& log) {
  auto database = open_database(config, log);
  TRY(database);
  TRY(ready_schema(config, *database, log));
  return database;
}

namespace {

Problems settings_problems(const Config& config, const ActionTypes& types, const std::string& type, const std::string& settings) {
  Problems problems = types.check_settings(type, settings);
  for (auto& problem : problems) {
    problem.file = config.file.string();
    problem.field = "senders." + type + (problem.field.empty() ? "" : "." + problem.field);
  }
  return problems;
}

// Of the action types that the registry names and `senders` does not.
Problems unset_sender_problems(const Config& config, const ActionTypes& types, const Registry& registry) {
  std::set<std::string> named;
  for (const auto& target : registry.targets()) named.insert(target.action_type);
  for (const auto& form : registry.forms())
    for (const auto& action : form.actions) named.insert(action.action_type);
  Problems problems;
  for (const auto& type : named) {
    if (config.senders.contains(type) || !types.find(type)) continue;
    for (auto& problem : settings_problems(config, types, type, "{}")) problems.push_back(std::move(problem));
  }
  return problems;
}

// The targets of the registry that the configuration names, and that are not there.
Problems named_target_problems(const Config& config, const Registry& registry) {
  std::string known;
  for (const auto& target : registry.targets()) known += (known.empty() ? "" : ", ") + target.target;
  Problems problems;
  const auto look = [&](const char* field, const std::string& name) {
    if (name.empty() || registry.find(name)) return;
    problems.push_back({config.file.string(), 0, field,
                        "the registry has no target \"" + name + "\" (targets: " + (known.empty() ? "none" : known) + ")"});
  };
  look("alerts.target", config.alerts.target);
  for (const auto& name : config.failure_check.targets) look("failure_check.targets", name);
  return problems;
}

// "" if the master keys are good, or none is named.
std::string master_key_fault(const Secrets& secrets, const std::string& name) {
  if (name.empty()) return {};
  const auto* keys = secrets.find(name);
  if (keys == nullptr) return "there is no secret of this name under secrets";
  for (const auto& key : *keys)
    if (key.expose().size() < kMinMasterKeyBytes)
      return "a master key has at least " + std::to_string(kMinMasterKeyBytes) +
             " bytes: head -c 48 /dev/urandom | base64 makes one";
  return {};
}

}  // namespace

LoadedInstallation load_installation(const Config& config, MissingPluginPolicy absent) {
  LoadedInstallation contents{
      .catalogue = Catalogue::load(config.plugins, config.senders), .registry = std::nullopt, .problems = {}, .absent = {}};
  for (const auto& one : contents.catalogue->superseded())
    contents.warnings.push_back({(config.plugins / one.file).string(), 0, "", words_of(one)});
  Problems& absences = absent == MissingPluginPolicy::tolerate ? contents.absent : contents.problems;
  for (const auto& [type, settings] : config.senders) {
    if (!contents.catalogue->find(type)) {
      absences.push_back({config.file.string(), 0, "senders." + type, "no loaded plugin has this action type"});
      continue;
    }
    const auto problems = settings_problems(config, *contents.catalogue, type, settings);
    contents.problems.insert(contents.problems.end(), problems.begin(), problems.end());
  }
  const auto report = [&](const Problems& problems) {
    contents.problems.insert(contents.problems.end(), problems.begin(), problems.end());
  };
  const auto secrets = Secrets::resolve(config.secrets, config.file.string());
  if (!secrets)
    report(secrets.error());
  else if (const auto links = make_links(config.link_key, *secrets, SystemClock{}); !links)
    report({{config.file.string(), 0, "links.key", links.error().what}});
  else if (auto fault = master_key_fault(*secrets, config.notify.key); !fault.empty())
    report({{config.file.string(), 0, "notify.key", std::move(fault)}});
  if (!config.tls.certificate.empty())
    if (const auto tls = http::TlsContext::load(config.tls); !tls) report({{config.file.string(), 0, "", tls.error().what}});
  auto registry =
      load_registry(config.registry, *contents.catalogue, absent == MissingPluginPolicy::tolerate ? &contents.absent : nullptr);
  if (registry) {
    report(named_target_problems(config, *registry));
    const auto unset = unset_sender_problems(config, *contents.catalogue, *registry);
    absences.insert(absences.end(), unset.begin(), unset.end());
    if (secrets) {
      auto outgoing = check_outgoing(config, *registry, *secrets);
      report(outgoing.problems);
      contents.transports = std::move(outgoing.transports);
      std::move(outgoing.warnings.begin(), outgoing.warnings.end(), std::back_inserter(contents.warnings));
    }
    contents.registry = std::move(*registry);
  } else {
    report(registry.error());
  }
  if (!config.listen.is_loopback() && config.tls.certificate.empty())
    contents.warnings.push_back(
        {config.file.string(), 0, "listen",
         "is not a loopback address, and there is no tls.certificate: tokens and payloads come over the network "
         "in clear, unless something in front of it encrypts them"});
  return contents;
}

std::string harm_of(const Config& config) {
  constexpr TrialTerms kWholeLoad{std::chrono::minutes{2}};  // of an installation of any size
  const auto load_all = [&](const std::filesystem::path&) { load_installation(config); };
  const auto harm = try_in_child({config.file}, load_all, kWholeLoad).front();
  return harm.empty()
             ? ""
             : "a plugin harms the process while it checks a target: " + harm + " (see what `waybill plugin check` finds)";
}

Problems check_registry(const Config& config, const ActionTypes& types, const Registry& registry) {
  Problems problems = named_target_problems(config, registry);
  for (auto& problem : unset_sender_problems(config, types, registry)) problems.push_back(std::move(problem));
  return problems;
}

}  // namespace waybill
