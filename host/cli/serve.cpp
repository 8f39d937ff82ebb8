// `waybill serve`: loads what a host needs, runs the host until it is told to stop, drains it.
#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "app/host.h"
#include "app/host_identity.h"
#include "app/inherited_listeners.h"
#include "base/printing.h"
#include "cli/commands.h"
#include "service_manager/stack_report.h"
#include "service_manager/watchdog.h"
#include "services/gcs_links.h"
#include "store/operations/database_check.h"

namespace waybill {
namespace {

constexpr auto kLastResort = std::chrono::seconds(20);  // after the longest drain, for connections that are being opened

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// The last line of a host that could not start is of the log's format, as those before it.
int not_started(Log& log, const std::string& why) {
  log.error("host.not_started", {{"error", why}});
  log.flush();
  return 1;
}
int not_started(Log& log, const Problems& problems) {
  for (std::size_t i = 0; i < std::min(problems.size(), kMaxPrintedProblems); ++i)
    log.error("config.refused", {{"problem", to_string(problems[i])}});
  return not_started(log, std::to_string(problems.size()) +
                              " problem(s) with the configuration, see config.refused above; "
                              "`waybill check` lists all of them");
}

void log_plugins(const LoadedInstallation& installation, Log& log) {
  for (const auto& plugin : installation.catalogue->refused())
    log.error("plugin.refused", {{"file", plugin.file}, {"reason", plugin.reason}, {"remedy", plugin.remedy}});
  for (const auto& plugin : installation.catalogue->loaded())
    log.info("plugin.loaded", {{"file", plugin.file},
                               {"id", plugin.id},
                               {"version", plugin.version},
                               {"isolation", word_of(plugin.isolation.mode)},
                               {"why", plugin.isolation.why}});
  for (const auto& plugin : installation.catalogue->loaded())
    for (const auto& missing : plugin.not_isolated) log.warn("plugin.not_isolated", {{"file", plugin.file}, {"what", missing}});
  for (const auto& plugin : installation.catalogue->loaded())
    if (!plugin.why_in_place.empty())
      log.warn("plugin.in_place", {{"file", plugin.file},
                                   {"why", plugin.why_in_place},
                                   {"effect", "writing over the file ends this host; put a new file in its place"}});
  for (const auto& problem : installation.absent)
    log.error("plugin.missing",
              {{"problem", to_string(problem)}, {"effect", "its submissions are taken and wait until that is mended"}});
  for (const auto& warning : installation.warnings) log.warn("config.warning", {{"warning", to_string(warning)}});
}

// A database that a host can work with.
struct ReadyDatabase {
  Database database;
  int shards;
  PublicIds ids;
};

Result<ReadyDatabase> ready_database(const Config& config, Log& log) {
  auto database = open_database(config, log, NoDatabasePolicy::make);
  TRY(database);
  const auto& address = database->address;
  const auto remarks = check_server(address);
  TRY(remarks);
  for (const auto& remark : *remarks) log.warn("database.remark", {{"remark", remark}});
  TRY(ready_schema(config, *database, log));
  TRY(check_rights(address));
  if (const auto separate = check_tenants(address); !separate) log.warn("database.remark", {{"remark", separate.error().what}});
  const auto shards = read_shards(address);
  TRY(shards);
  const auto ids = read_public_ids(address);
  TRY(ids);
  return ReadyDatabase{std::move(*database), *shards, *ids};
}

// What an earlier version ran inside of the host stays there until the operator says where it runs.
Result<void> keep_default(Config& config, const DatabaseAddress& address, LoadedInstallation& installation, Log& log) {
  if (config.isolations.says_others) return {};
  const auto keeps = keeps_plugins_in_host(address);
  TRY(keeps);
  if (!*keeps) return {};
  config.isolations.others = IsolationMode::in_process;
  setenv("WAYBILL_PLUGIN_ISOLATION", word_of(IsolationMode::in_process), 1);  // for the commands that this host starts
  installation = load_installation(config, MissingPluginPolicy::tolerate);
  for (const auto& plugin : installation.catalogue->loaded())
    if (plugin.isolation.by_default)
      log.warn(
          "plugin.isolation_kept",
          {{"file", plugin.file},
           {"effect", "it runs in the host, as before this version; on a new installation it would have a process of its own"},
           {"remedy", "say in the configuration which it shall be: plugin_isolation, or senders." + plugin.action_types.front() +
                          ".isolation"}});
  return {};
}

std::unique_ptr<BreadcrumbFolder> open_breadcrumbs(const Config& config, Log& log) {
  auto folder = BreadcrumbFolder::open(breadcrumb_place(config));
  if (folder) return std::move(*folder);
  log.warn("breadcrumbs.off",
           {{"error", folder.error().what}, {"effect", "a delivery that brings this host down is not known as such"}});
  return nullptr;
}

// Beside the host, so that a thread of it that is stuck does not stay unnoticed. Without a service manager it is only told.
std::unique_ptr<Watchdog> watch(const Host& host, const ServiceManager& manager, Log& log) {
  std::chrono::milliseconds limit = host.longest_turn();
  if (const auto period = manager.watchdog_period())
    limit = std::max(limit, std::chrono::duration_cast<std::chrono::milliseconds>(*period / 2));
  return std::make_unique<Watchdog>(
      manager, host.pulses(),
      Watchdog::Terms{.limit = limit,
                      .status = [&host] { return host.status(); },
                      .tell =
                          [&log, is_watched = manager.watchdog_period().has_value()](const StuckThread& stuck) {
                            log.error("host.stuck", {{"thread", stuck.name},
                                                     {"seconds", stuck.turn_time.count()},
                                                     {"stack", stuck.stack},
                                                     {"effect", is_watched ? "the service manager starts this host anew"
                                                                           : "restart this host: it does not get on"}});
                            log.flush();
                          }});
}

// The service manager hears that the host is ready once /readyz says so.
void work_until_told_to_stop(Host& host, const ServiceManager& manager, const sigset_t& signals) {
  constexpr timespec kPauseBetweenLooks{0, 20'000'000};
  bool is_told = !manager.is_there();
  for (;;) {
    if (!is_told && host.is_ready()) {
      manager.ready();
      is_told = true;
    }
    const int signal = is_told ? sigwaitinfo(&signals, nullptr) : sigtimedwait(&signals, nullptr, &kPauseBetweenLooks);
    if (signal == SIGTERM || signal == SIGINT) return;
    if (signal == SIGHUP) host.reload();
  }
}

// Ends the process if it is still there after `limit`.
std::jthread last_resort(Log& log, Clock::Monotonic::duration limit) {
  return std::jthread([&log, limit](std::stop_token stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, limit, [] { return false; });
    if (stop.stop_requested()) return;
    log.error("host.drain_hangs", {{"remedy", "other hosts take over what it had; see what the database does"}});
    log.flush();
    std::_Exit(1);
  });
}

int drain(std::unique_ptr<Host> host, Database& database, Log& log) {
  const auto watch = last_resort(log, host->max_drain() + kLastResort);
  const bool clean = host->drain();
  const int code = host->why_outdated().empty() ? 0 : failed("stopped: " + host->why_outdated());
  if (clean) {
    host.reset();
    return code;
  }
  // A plugin never came back from a call: its thread cannot be ended, so neither can this process in the ordinary way.
  log.error("host.abandoned_threads", {{"remedy", "see plugin.violation above"}});
  log.flush();
  database.server.reset();
  static_cast<void>(host.release());
  std::_Exit(code);
}

}  // namespace

int serve(const GlobalOptions& options) {
  const auto manager = ServiceManager::of_environment();
  auto sockets = take_inherited_sockets();
  auto config = read_configuration(options);
  if (!config) {
    if (has_status_line()) {  // for people
      print(config.error());
      return 1;
    }
    Log log = quiet_log();
    return not_started(log, config.error());
  }
  Log log = make_log(*config);
  for (const auto& warning : config->warnings) log.warn("config.deprecated", {{"warning", to_string(warning)}});
  const sigset_t signals = block_signals();  // a SIGHUP that comes too early waits
  if (!sockets) return not_started(log, sockets.error().what);
  auto listeners = inherited_listeners(std::move(*sockets), *config);
  if (!listeners) return not_started(log, listeners.error().what);
  if (const auto harm = harm_of(*config); !harm.empty()) return failed("not started: " + harm);
  LoadedInstallation installation = load_installation(*config, MissingPluginPolicy::tolerate);
  if (!installation.problems.empty()) {
    log_plugins(installation, log);
    return not_started(log, installation.problems);
  }
  manager.status("opening the database, and bringing its schema up to date");
  auto ready = ready_database(*config, log);
  if (!ready) return not_started(log, ready.error().what);
  auto& [database, shards, ids] = *ready;
  if (const auto kept = keep_default(*config, database.address, installation, log); !kept)
    return not_started(log, kept.error().what);
  log_plugins(installation, log);
  const auto loaded = make_form_store(database.address, shards, config->kept_forms)
                          ->load(installation.registry->forms(), {host_name(), "system", "start"});
  if (!loaded) return not_started(log, loaded.error().what);
  auto secrets = Secrets::resolve(config->secrets, config->file.string());
  if (!secrets) return not_started(log, secrets.error());

  raise_file_limit();
  DatabaseClock clock;
  auto links = make_links(config->link_key, *secrets, clock);
  if (!links) return not_started(log, "links.key: " + links.error().what);
  auto host = std::make_unique<Host>(HostParts{.config = *config,
                                               .installation = installation,
                                               .registry = std::move(*installation.registry),
                                               .secrets = std::move(*secrets),
                                               .links = std::move(*links),
                                               .address = database.address,
                                               .clock = clock,
                                               .shards = shards,
                                               .ids = ids,
                                               .folder = open_breadcrumbs(*config, log),
                                               .socket = std::move(listeners->api),
                                               .metrics_socket = std::move(listeners->metrics),
                                               .log = log});
  if (const auto started = host->start(); !started) {
    static_cast<void>(host->drain());
    return not_started(log, started.error().what);
  }
  report_stacks_on_abort();
  auto watchdog = watch(*host, manager, log);
  work_until_told_to_stop(*host, manager, signals);
  watchdog.reset();  // it says nothing more about the status
  manager.stopping(host->max_drain() + kLastResort);
  return drain(std::move(host), database, log);
}

}  // namespace waybill
