// Loading an installation.
#include "app/installation.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>

#include "app/asked_secrets.h"
#include "app/configuration_file.h"
#include "app/outgoing.h"
#include "app/time_limits.h"
#include "base/json_document.h"
#include "base/names.h"
#include "base/nearest.h"
#include "base/printing.h"
#include "http/tls.h"
#include "registry/registry_digest.h"
#include "senders/plugin_trial.h"
#include "services/gcs_links.h"
#include "services/secrets.h"
#include "store/operations/database_check.h"
#include "store/pg/migrations.h"
#include "store/pg/session_watch.h"
#include "store/pg_stores.h"

extern char** environ;

namespace waybill {

void print(const Problems& problems, std::string_view before) {
  constexpr std::size_t kMaxLine = 2000;  // bytes
  for (std::size_t i = 0; i < std::min(problems.size(), kMaxPrintedProblems); ++i) {
    const auto line = to_string(problems[i]);
    const auto place = before.empty() ? std::min(line.find(": "), line.size()) : 0;  // warnings have a word to colour
    print_error(before.empty() ? Ink::red : Ink::yellow, "%s%s", std::string(before).c_str(), line.substr(0, place).c_str());
    print_error("%s%s\n", line.substr(place, kMaxLine).c_str(), line.size() > place + kMaxLine ? "..." : "");
  }
  if (problems.size() > kMaxPrintedProblems) print_error("and %zu more of such lines\n", problems.size() - kMaxPrintedProblems);
}

int failed(const std::string& what) {
  print_error(Ink::red, "waybill:");
  print_error(" %s\n", what.c_str());
  return 1;
}

void report_wait(const std::string& who) {
  print_error("waybill: waiting for a lock, and trying again without holding up others: in the way is %s\n", who.c_str());
}

tl::expected<Config, Problems> read_configuration(const GlobalOptions& options) {
  ConfigurationPlaces places{.given = options.config};
  if (const char* named = std::getenv("WAYBILL_CONFIG")) places.variable = named;
  const auto file = configuration_file(places);
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
  auto config = load_config(file, environment);
  if (!config && file.empty()) {
    std::erase_if(config.error(), [](const Problem& problem) { return problem.field == "database"; });  // first_steps() says it
    config.error().insert(config.error().begin(), {"", 0, "", first_steps(places)});
  }
  return config;
}

std::optional<Config> configuration(const GlobalOptions& options) {
  auto config = read_configuration(options);
  if (config) return std::move(*config);
  print(config.error());
  return std::nullopt;
}

Log make_log(const Config& config) {
  const auto level = config.log_level == "debug"   ? Log::Level::debug
                     : config.log_level == "warn"  ? Log::Level::warn
                     : config.log_level == "error" ? Log::Level::error
                                                   : Log::Level::info;
  return Log(level, config.log_format == "auto" ? log_format_of_standard_error() : *log_format_of(config.log_format));
}

Log quiet_log() { return Log(Log::Level::warn, log_format_of_standard_error()); }

Result<Database> open_database(const Config& config, Log& log, NoDatabasePolicy none) {
  if (config.database.url.empty() && none == NoDatabasePolicy::refuse && !EmbeddedPostgres::is_in(config.database.embedded))
    return fail(Error::Kind::invalid, "there is no database in " + config.database.embedded.string() +
                                          " yet (database.embedded): run `waybill migrate`");
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
  auto database = fit_database(config, log);
  TRY(database);
  const auto shards = read_shards(database->address);
  TRY(shards);
  auto store = make_read_store(database->address, *shards);
  const auto id = store->organisation(org);
  TRY(id);
  if (!*id) return fail(Error::Kind::not_found, "there is no organisation \"" + org + "\"");
  return Reading{std::move(*database), std::move(store), **id, *shards};
}

Result<void> ready_schema(const Config& config, const Database& database, Log& log) {
  TRY(check_owner(database.address, database.owner));
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

Result<Database> fit_database(const Config& config, Log& log) {
  auto database = open_database(config, log);
  TRY(database);
  TRY(check_schema(*database));
  return database;
}

Result<Database> owned_database(const Config& config, Log& log) {
  auto database = fit_database(config, log);
  TRY(database);
  TRY(check_owner(database->address, database->owner));
  return database;
}

namespace {

Problems settings_problems(const Config& config, const ActionTypes& types, const std::string& type, const std::string& settings) {
  Problems problems = types.check_settings(type, settings);
  for (auto& problem : problems) {
    const auto field = field_below(field_path("senders", type), problem.field);
    problem = config.problem(field, std::move(problem.message));
  }
  return problems;
}

}  // namespace

Problems sender_problems(const Config& config, const ActionTypes& types, const std::string& type) {
  const auto found = config.senders.find(type);
  return types.find(type) == nullptr
             ? Problems{}
             : settings_problems(config, types, type, found == config.senders.end() ? "{}" : found->second);
}

namespace {

// What a plugin's process shall read, and is not there.
Problems unreadable_warnings(const Config& config) {
  Problems warnings;
  for (const auto& [type, isolation] : config.isolations.by_type)
    for (const auto& path : isolation.read)
      if (std::error_code unknown; !std::filesystem::exists(path, unknown))
        warnings.push_back(config.problem("senders." + type + ".isolation.read", path.string() + " is not there"));
  return warnings;
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
  std::string list;
  std::vector<std::string> known;
  for (const auto& target : registry.targets()) {
    list += (list.empty() ? "" : ", ") + target.target;
    known.push_back(target.target);
  }
  Problems problems;
  const auto look = [&](const std::string& field, const std::string& name) {
    if (name.empty() || registry.find(name)) return;
    problems.push_back(config.problem(field, "the registry has no target \"" + name + "\" (targets: " +
                                                 (list.empty() ? "none" : list) + ")" + did_you_mean(name, known)));
  };
  look("alerts.target", config.alerts.target);
  for (std::size_t i = 0; i < config.failure_check.targets.size(); ++i)
    look("failure_check.targets[" + std::to_string(i) + "]", config.failure_check.targets[i]);
  return problems;
}

// The action types that `senders` and `retry` name and that no plugin has.
Problems unknown_types(const Config& config, const ActionTypes& types) {
  const auto known = types.names();
  std::string list;
  for (const auto& name : known) list += (list.empty() ? "" : ", ") + name;
  Problems problems;
  const auto look = [&](const std::string& section, const std::string& type) {
    if (!types.find(type))
      problems.push_back(config.problem(
          section + "." + type,
          "no loaded plugin has this action type (loaded: " + (list.empty() ? "none" : list) + ")" + did_you_mean(type, known)));
  };
  for (const auto& [type, settings] : config.senders) look("senders", type);
  const auto own = default_timings();
  for (const auto& [type, timing] : config.retry)
    if (!own.contains(type)) look("retry", type);
  return problems;
}

// Its message begins with the key that it is about.
Problem tls_problem(const Config& config, const std::string& what) {
  const auto colon = what.find(": ");
  if (!what.starts_with("tls.") || colon == std::string::npos) return config.problem("tls", what);
  return config.problem(what.substr(0, colon), what.substr(colon + 2));
}

// A plugin that signs links to attachments says so: `no_link_key` is a reason of its action types.
bool signs_links(const ActionTypes& types, const Form& form) {
  return std::any_of(form.actions.begin(), form.actions.end(), [&](const FormAction& action) {
    const auto* type = types.find(action.action_type);
    return type != nullptr && std::any_of(type->reasons.begin(), type->reasons.end(),
                                          [](const Reason& reason) { return reason.name == "no_link_key"; });
  });
}

// The forms whose submissions may have attachments that nobody can be sent a link to.
Problems link_warnings(const Config& config, const ActionTypes& types, const Registry& registry) {
  std::vector<std::string> forms;
  for (const auto& form : registry.forms())
    if (form.takes_attachments && signs_links(types, form)) forms.push_back(form.id);
  if (forms.empty() || !config.link_key.empty()) return {};
  return {{config.file.string(), 0, "links.key",
           "is not set, so mails and tickets of submissions with attachments cannot be made, and fail as no_link_key (forms: " +
               list_of(forms) + "); set it, or write \"attachments: false\" in forms that take none"}};
}

// Where tenants have channels, there need be nothing else.
EmptyTargets empty_targets(const Config& config) {
  return config.notify.key.empty() ? EmptyTargets::refuse : EmptyTargets::allow;
}

// Files that somebody is just copying are read again: half of them must not come in force.
tl::expected<Registry, Problems> read_whole_registry(const Config& config, const ActionTypes& types, Problems* absent,
                                                     std::string& digest) {
  constexpr int kTries = 3;
  const auto& folder = config.registry;
  for (int i = 0; i < kTries; ++i) {
    if (absent) absent->clear();
    digest = registry_digest(folder);
    auto registry = load_registry(folder, types, absent, empty_targets(config));
    if (registry_digest(folder) == digest) return registry;
  }
  return tl::unexpected(Problems{{folder.string(), 0, "", "its files change while they are read: try again when that is over"}});
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

// Of the secrets that other keys name.
Problems key_problems(const Config& config, const Secrets& secrets) {
  if (const auto links = make_links(config.link_key, secrets, SystemClock{}); !links)
    return {config.problem("links.key", links.error().what)};
  if (auto fault = master_key_fault(secrets, config.notify.key); !fault.empty())
    return {config.problem("notify.key", std::move(fault))};
  return {};
}

}  // namespace

std::string digest_on_disk(const Config& config) { return registry_digest(config.registry); }

FoundRegistry find_registry(const Config& config, const ActionTypes& types, const Secrets* secrets, MissingPluginPolicy absent) {
  FoundRegistry found;
  Problems& absences = absent == MissingPluginPolicy::tolerate ? found.absent : found.problems;
  auto registry =
      read_whole_registry(config, types, absent == MissingPluginPolicy::tolerate ? &found.absent : nullptr, found.digest);
  if (!registry) {
    found.problems = std::move(registry.error());
    return found;
  }
  const auto add = [](Problems& into, Problems more) { std::move(more.begin(), more.end(), std::back_inserter(into)); };
  add(found.problems, named_target_problems(config, *registry));
  add(absences, unset_sender_problems(config, types, *registry));
  if (secrets) {
    auto outgoing = check_outgoing(config, *registry, *secrets);
    add(found.problems, std::move(outgoing.problems));
    add(found.warnings, std::move(outgoing.warnings));
    found.transports = std::move(outgoing.transports);
  }
  add(found.warnings, unknown_secrets(config, *registry));
  add(found.warnings, link_warnings(config, types, *registry));
  add(found.problems, time_limit_problems(config, *registry));
  add(found.warnings, time_limit_warnings(config, *registry));
  found.registry = std::move(*registry);
  return found;
}

LoadedInstallation load_installation(const Config& config, MissingPluginPolicy absent) {
  LoadedInstallation contents{.catalogue = Catalogue::load(config.plugin_folders(), config.senders, config.isolations),
                              .registry = std::nullopt,
                              .problems = {},
                              .absent = {}};
  for (const auto& one : contents.catalogue->superseded())
    contents.warnings.push_back({(config.plugins / one.file).string(), 0, "", words_of(one)});
  Problems& absences = absent == MissingPluginPolicy::tolerate ? contents.absent : contents.problems;
  for (auto& warning : unreadable_warnings(config)) contents.warnings.push_back(std::move(warning));
  const auto unknown = unknown_types(config, *contents.catalogue);
  absences.insert(absences.end(), unknown.begin(), unknown.end());
  for (const auto& [type, settings] : config.senders) {
    const auto problems = sender_problems(config, *contents.catalogue, type);
    contents.problems.insert(contents.problems.end(), problems.begin(), problems.end());
  }
  const auto report = [&](const Problems& problems) {
    contents.problems.insert(contents.problems.end(), problems.begin(), problems.end());
  };
  auto readable = config.secrets;
  const auto aside = set_credentials_aside(readable, config.file.string());
  for (auto warning : aside) {
    warning.message += "; what needs secrets is not checked";
    contents.warnings.push_back(std::move(warning));
  }
  const auto secrets = Secrets::resolve(readable, config.file.string());
  const bool knows_all = secrets && aside.empty();
  if (!secrets) report(secrets.error());
  if (knows_all) report(key_problems(config, *secrets));
  if (!config.tls.certificate.empty())
    if (const auto tls = http::TlsContext::load(config.tls); !tls) report({tls_problem(config, tls.error().what)});
  auto found = find_registry(config, *contents.catalogue, knows_all ? &*secrets : nullptr, absent);
  report(found.problems);
  std::move(found.absent.begin(), found.absent.end(), std::back_inserter(contents.absent));
  std::move(found.warnings.begin(), found.warnings.end(), std::back_inserter(contents.warnings));
  contents.registry = std::move(found.registry);
  contents.transports = std::move(found.transports);
  contents.registry_digest = std::move(found.digest);
  if (!config.listen.is_loopback() && config.tls.certificate.empty())
    contents.warnings.push_back(
        config.problem("listen",
                       "is not a loopback address, and there is no tls.certificate: tokens and payloads come over the network "
                       "in clear, unless something in front of it encrypts them"));
  return contents;
}

std::optional<Rate> rate_in_force(const Config& config, const ActionTypes& types, const std::string& target,
                                  const std::optional<Rate>& of_contract) {
  Problems absent;
  const auto registry = load_registry(config.registry, types, &absent, empty_targets(config));
  const Contract* found = registry ? registry->find(target) : nullptr;
  return found ? found->rate : of_contract;
}

std::string harm_of(const Config& config) {
  constexpr TrialTerms kWholeLoad{std::chrono::minutes{2}};  // of an installation of any size
  const auto load_all = [&](const std::filesystem::path&) { load_installation(config); };
  const auto harm = try_in_child({config.file}, load_all, kWholeLoad).front();
  return harm.empty()
             ? ""
             : "a plugin harms the process while it checks a target: " + harm + " (see what `waybill plugin check` finds)";
}

}  // namespace waybill
