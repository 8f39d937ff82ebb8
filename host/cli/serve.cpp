// `waybill serve`: builds the graph top-down, connects the stages of the pipeline, runs it until told to stop.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "api/server.h"
#include "api/token_check.h"
#include "breadcrumbs/start_gate.h"
#include "claim/claim_on_insert.h"
#include "claim/claimer.h"
#include "cli/commands.h"
#include "cli/host_parts.h"
#include "cli/quarantine.h"
#include "cli/routes.h"
#include "execute/executor.h"
#include "maintenance/alerts.h"
#include "maintenance/maintenance.h"
#include "senders/sender_factory.h"
#include "settle/settler.h"
#include "store/database_check.h"
#include "store/pg_stores.h"
#include "store/session_watch.h"

namespace waybill {
namespace {

constexpr int kIntakeWorkers = 2;
constexpr int kReaders = 3;
constexpr int kFormSessions = 3;
constexpr auto kStale = std::chrono::seconds(3);        // the age of a sign of life from which on the host is not ready
constexpr auto kLastWrites = std::chrono::seconds(5);   // of a drain, after the time of the work
constexpr auto kLastResort = std::chrono::seconds(20);  // after both, for connections that are being opened

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::vector<std::unique_ptr<IntakeStore>> intake_stores(const DatabaseAddress& address) {
  std::vector<std::unique_ptr<IntakeStore>> stores;
  for (int i = 0; i < kIntakeWorkers; ++i) stores.push_back(make_intake_store(address));
  return stores;
}

std::vector<ReadPool::Session> sessions(const DatabaseAddress& address, int shards) {
  std::vector<ReadPool::Session> all;
  for (int i = 0; i < kReaders; ++i) all.push_back({make_read_store(address, shards), make_token_store(address)});
  return all;
}

std::vector<FormSession> form_sessions(const DatabaseAddress& address, int shards, const Config& config) {
  std::vector<FormSession> all;
  for (int i = 0; i < kFormSessions; ++i)
    all.push_back({make_form_store(address, shards, config.kept_forms), make_dead_store(address, shards, config.replay_rate)});
  return all;
}

// The running host. Members are in the order of construction; what uses others comes after them.
class Host {
 public:
  Host(const Config& config, const LoadedInstallation& installation, Registry registry, Secrets secrets,
       std::shared_ptr<const GcsLinks> links, const DatabaseAddress& address, int shards,
       std::unique_ptr<BreadcrumbFolder> folder, Log& log)
      : config_(config),
        installation_(installation),
        log_(log),
        name_(host_name()),
        shards_(shards),
        folder_(std::move(folder)),
        crashes_(folder_ ? std::make_unique<Crashes>(*folder_, clock_, log, metrics_) : nullptr),
        breadcrumbs_(begin_trail()),
        gate_(folder_.get(), breadcrumbs_,
              [this](const std::string& type) { return plugin_file(config_, *installation_.catalogue, type); }),
        registry_(std::move(registry)),
        watch_(*address.watch),
        pool_(sessions(address, shards), config.timeouts.answer),
        form_pool_(form_sessions(address, shards, config), config.timeouts.answer + kOperatorsTime),
        waiters_(pool_, clock_),
        settle_store_(make_settle_store(address)),
        queue_store_(make_queue_store(address)),
        maintenance_store_(make_maintenance_store(address)),
        rescue_store_(make_rescue_store(address)),
        rescue_settle_store_(make_settle_store(address)),
        maintenance_form_store_(make_form_store(address, shards, config.kept_forms)),
        rescue_queue_store_(make_queue_store(address)),
        alert_store_(make_alert_store(address)),
        alert_intake_store_(make_intake_store(address)),
        suspect_store_(make_suspect_store(address)),
        quarantine_(config.file, *suspect_store_, clock_, log),
        factory_(*installation.catalogue, config, std::make_shared<const Secrets>(std::move(secrets)),
                 {.templates = [this] { return templates_of(registry_.current()); }, .links = std::move(links)}, clock_, log,
                 metrics_, breadcrumbs_),
        settler_(
            *settle_store_, clock_,
            {.actor = name_,
             .retry = config.retry,
             .cooldown = config.timeouts.cooldown,
             .outage = config.timeouts.outage,
             .failure_period = config.alerts.digest_every,
             .batch = config.limits.claim_batch},
            [this] { return planner_.held(); }, [this](const Settler::WriteResult& written) { settled(written); }, log, metrics_),
        executor_(
            factory_, clock_, {.attempt_timeout = config.timeouts.attempt, .grace = config.timeouts.attempt_grace},
            [this](std::vector<Finished> finished) { settler_.take(std::move(finished)); }, log, metrics_),
        planner_(
            config.limits,
            [this](const std::string& type) {
              return gate_.is_open(type) && executor_.state(type) == Executor::State::ready ? executor_.concurrency(type) : 0;
            },
            config.timeouts.attempt / 4),
        liveness_(address, name_),
        notifier_(
            *alert_store_, *alert_intake_store_,
            {.shards = shards,
             .quiet = config.alerts.quiet,
             .stuck = config.alerts.stuck,
             .digest_every = config.alerts.digest_every},
            [this] { return alert_target(); }, [this](const std::string& type) { return blocked_reason(type); },
            [this] { wake(); }, log, metrics_),
        maintenance_(liveness_, *rescue_store_, *rescue_queue_store_, *rescue_settle_store_, periodic_tasks(), clock_,
                     {.shards = shards,
                      .actor = name_,
                      .takeover = config.timeouts.takeover,
                      .lease = config.timeouts.lease,
                      .crashes = crashes_.get()},
                     {.wake = [this] { wake(); },
                      .rescued = [this] { executor_.withdraw(); },
                      .open_claims = [this] { return claim_ledger_.open(); },
                      .outdated = [this](const std::string& why) { outdated(why); }},
                     log, metrics_),
        claim_on_insert_(
            planner_, claim_ledger_, clock_, config.timeouts.lease,
            [this] { return may_claim() ? maintenance_.host() : std::nullopt; },
            [this](std::vector<Job> jobs) { claimed(std::move(jobs)); }),
        claimer_(
            *queue_store_, planner_, claim_ledger_, clock_,
            {.shards = shards,
             .batch = config.limits.claim_batch,
             .lease = config.timeouts.lease,
             .poll = config.timeouts.poll,
             .probe = config.timeouts.attempt + config.timeouts.attempt_grace + Millis{1000}},
            [this] { return may_claim() ? maintenance_.host() : std::nullopt; },
            [this](std::vector<Job> jobs) { claimed(std::move(jobs)); }, log),
        intake_(
            intake_stores(address), clock_, {.shards = shards, .patience = config.timeouts.answer},
            {.claim = [this](Shard shard, const std::vector<InsertGroup>& all) { return claim_on_insert_.ask(shard, all); },
             .claimed = [this](Shard shard, const InsertClaim& claim, std::vector<InsertGroup> all,
                               ClaimResult rows) { claim_on_insert_.carried_out(shard, claim, std::move(all), std::move(rows)); },
             .lost =
                 [this](Shard shard, const InsertClaim& claim, const std::vector<InsertGroup>& all) {
                   claim_on_insert_.unconfirmed(shard, claim, all);
                   wake();
                 },
             .is_due =
                 [this](Shard shard, const std::vector<InsertGroup>& routes) {
                   if (may_claim()) claimer_.wake(shard, routes);
                 }},
            log),
        tokens_(pool_, clock_) {
    // What the targets need is made before the first claim; what no target names stays out of this process's way.
    if (folder_ && folder_->is_careful()) {
      log_.error("host.careful_start", {{"why", "hosts died here outside of any delivery, three within a minute"},
                                        {"effect", "action types begin one by one, to find the one that does it"}});
      gate_.begin_one_by_one(needed_types(), clock_.now());
    }
    make_senders();
    if (crashes_)
      if (const auto told = crashes_->report(*make_suspect_store(address)); !told)
        log_.warn("maintenance.failed", {{"task", "crashes"}, {"error", told.error().what}});
    may_claim_ = true;
    wake();
  }

  Result<void> listen() {
    auto routes = all_routes({.intents = {intake_, registry_, pool_, waiters_, clock_, log_, metrics_},
                              .forms = {registry_, *installation_.catalogue, form_pool_, [this] { wake(); }, log_, metrics_},
                              .reload =
                                  [this](FormStore& store, const std::string& actor) {
                                    return reload(store, {actor, "admin", "reload"});
                                  },
                              .not_ready = [this] { return not_ready(); },
                              .closed = [this] { return why_outdated(); }});
    Authenticate authenticate;
    if (!config_.auth_none)
      authenticate = [this](const Request& request, std::function<void(Admission)> answer) {
        tokens_(request, std::move(answer));
      };
    auto server = Server::listen(config_, std::move(routes), std::move(authenticate), log_, metrics_);
    if (!server) return tl::unexpected(server.error());
    server_ = std::move(*server);
    server_->start();
    if (!config_.port_file.empty()) {  // renamed into place, so that whoever waits for it never reads half a number
      const auto fresh = config_.port_file.string() + ".new";
      std::ofstream(fresh) << server_->port() << "\n";
      std::filesystem::rename(fresh, config_.port_file);
    }
    log_.info("host.ready", {{"name", name_},
                             {"listen", config_.listen.host + ":" + std::to_string(server_->port())},
                             {"targets", registry_.current()->targets().size()}});
    return {};
  }

  // SIGHUP
  void reload() {
    form_pool_.ask([this](FormSession& session) { static_cast<void>(reload(*session.forms, {name_, "system", "reload"})); });
  }

  // Why this program may not use the database any more; "" while it may.
  std::string why_outdated() const { return outdated_ ? why_outdated_ : ""; }

  // SIGTERM: claims nothing more, finishes what is out, gives back the rest. False when a plugin holds on to a thread. No
  // statement outlives the work's time by more than kLastWrites, so a database that hangs does not hold this up.
  bool drain() {
    draining_ = true;
    const auto end = clock_.now() + config_.timeouts.drain;
    watch_.stop_at(end + kLastWrites);
    const auto left = [this](Clock::Monotonic until) {
      return std::clamp(std::chrono::ceil<Millis>(until - clock_.now()), Millis{0}, Millis{3'600'000});
    };
    log_.info("host.draining", {{"in_flight", executor_.in_flight()}});
    claim_on_insert_.stop();
    claimer_.stop();
    const bool clean = executor_.stop(left(end));
    settler_.stop(std::min(left(end + kLastWrites), Millis{5000}));
    waiters_.stop();
    if (server_) server_->stop(Millis{5000});
    pool_.stop();  // its questions use what goes before it
    form_pool_.stop();
    maintenance_.stop();
    if (breadcrumbs_) breadcrumbs_->remove();
    log_.info("host.stopped", {{"name", name_}});
    return clean;
  }

 private:
  // The registry as it is on disk now, or the one that was.
  ReloadResult reload(FormStore& store, const LoadActor& actor) {
    const std::lock_guard lock(reloading_);
    auto next = load_registry(config_.registry, *installation_.catalogue);
    if (next)
      if (auto problems = check_registry(config_, *installation_.catalogue, *next); !problems.empty())
        next = tl::unexpected(std::move(problems));
    if (!next) {
      for (const auto& problem : next.error()) log_.error("registry.refused", {{"problem", to_string(problem)}});
      return {.problems = std::move(next.error()), .error = {}, .changes = {}};
    }
    auto loaded = store.load(next->forms(), actor);
    if (!loaded) {
      log_.error("registry.not_stored", {{"error", loaded.error().what}});
      return {.problems = {}, .error = loaded.error(), .changes = {}};
    }
    registry_.swap_in(std::move(*next));
    const auto registry = registry_.current();
    log_.info("registry.reloaded",
              {{"targets", registry->targets().size()}, {"forms", registry->forms().size()}, {"actor", actor.name}});
    return {{}, {}, registry->targets().size(), registry->forms().size(), std::move(*loaded)};
  }

  std::vector<PeriodicTask> periodic_tasks() {
    std::vector<PeriodicTask> all{queue_numbers(*maintenance_store_, metrics_),
                                  orphaned_claims(
                                      *maintenance_store_, [this] { maintenance_.look_at_claims(); },
                                      [this] { return watch_.health("liveness").sessions; }, clock_, log_),
                                  partitions(*maintenance_store_),
                                  old_outages(*maintenance_store_, config_.timeouts.outage, log_)};
    for (auto& task : notifier_.tasks()) all.push_back(std::move(task));
    all.push_back(form_sweep(
        *maintenance_form_store_, shards_, [this] { wake(); }, log_));
    all.push_back(form_retention(*maintenance_form_store_, shards_, log_));
    if (crashes_) all.push_back(crashes_->task(*suspect_store_));
    all.push_back(quarantine_.task());
    all.push_back({"start_gate", Millis{500}, [this]() -> Result<void> {
                     if (!gate_.look(clock_.now())) return {};
                     make_senders();
                     wake();
                     return {};
                   }});
    return all;
  }

  std::vector<std::string> needed_types() const {
    std::vector<std::string> types;
    const auto registry = registry_.current();
    for (const auto& target : registry->targets()) types.push_back(target.action_type);
    for (const auto& form : registry->forms())
      for (const auto& action : form.actions) types.push_back(action.action_type);
    return types;
  }

  void make_senders() {
    for (const auto& type : needed_types())
      if (gate_.is_open(type)) static_cast<void>(executor_.state(type));
  }

  std::optional<Contract> alert_target() const {
    const auto registry = registry_.current();
    const Contract* target = registry->find(config_.alerts.target);
    return target ? std::optional(*target) : std::nullopt;
  }

  // The dead of this machine are read of before this host leaves a trail itself.
  std::shared_ptr<BreadcrumbFile> begin_trail() {
    if (!folder_) return nullptr;
    crashes_->look();
    auto begun = folder_->begin(BreadcrumbFile::Of::host);
    if (begun) {
      (*begun)->note_fatal_signals();
      return std::move(*begun);
    }
    log_.warn("breadcrumbs.off",
              {{"error", begun.error().what}, {"effect", "a delivery that brings this host down is not known as such"}});
    return nullptr;
  }

  std::string blocked_reason(const std::string& action_type) const {
    if (auto closed = gate_.blocked_reason(action_type); !closed.empty()) return closed;
    switch (executor_.state(action_type)) {
      case Executor::State::missing:
        return "no plugin for action type " + action_type + " is running here";
      case Executor::State::stuck:
        return "the plugin for action type " + action_type + " was switched off here after it got stuck";
      case Executor::State::ready:
        break;
    }
    return {};
  }

  void wake() {
    if (may_claim()) claimer_.wake();
  }

  void claimed(std::vector<Job> jobs) {
    metrics_.in_flight(planner_.held());
    executor_.start(std::move(jobs));
  }

  void settled(const Settler::WriteResult& written) {
    claimer_.release(written.batch, written.unwritten);  // nothing settles before the claimer has claimed it
    metrics_.in_flight(planner_.held());
    waiters_.moved(written.moved);
  }

  bool may_claim() const { return may_claim_ && !outdated_; }

  // The schema is newer than this program may use: from now on it claims and takes in nothing, and it ends as if it was told to.
  void outdated(const std::string& why) {
    why_outdated_ = why;
    outdated_ = true;
    kill(getpid(), SIGTERM);
  }

  std::string not_ready() const {
    if (outdated_) return why_outdated_;
    if (draining_) return "the host is draining";
    const auto health = watch_.health("liveness");
    if (!health.refusal.empty()) return "the database is of no use: " + health.refusal;
    if (!maintenance_.is_up()) return "the database is not available";
    const auto age = std::chrono::duration_cast<Seconds>(std::chrono::steady_clock::now() - health.good_at);
    return age < kStale + config_.timeouts.takeover ? ""
                                                    : "the database has not answered for " + std::to_string(age.count()) + " s";
  }

  const Config& config_;
  const LoadedInstallation& installation_;
  Log& log_;
  const std::string name_;
  const int shards_;
  SystemClock clock_;
  Metrics metrics_;
  std::atomic<bool> may_claim_{false}, draining_{false};
  std::string why_outdated_;  // written once, before:
  std::atomic<bool> outdated_{false};
  const std::unique_ptr<BreadcrumbFolder> folder_;  // null: no trail is left
  const std::unique_ptr<Crashes> crashes_;
  const std::shared_ptr<BreadcrumbFile> breadcrumbs_;
  StartGate gate_;
  LiveRegistry registry_;
  std::mutex reloading_;
  SessionWatch& watch_;
  ReadPool pool_;
  FormPool form_pool_;
  Waiters waiters_;
  std::unique_ptr<SettleStore> settle_store_;
  std::unique_ptr<QueueStore> queue_store_;
  std::unique_ptr<MaintenanceStore> maintenance_store_;
  std::unique_ptr<RescueStore> rescue_store_;
  std::unique_ptr<SettleStore> rescue_settle_store_;
  std::unique_ptr<FormStore> maintenance_form_store_;
  std::unique_ptr<QueueStore> rescue_queue_store_;
  std::unique_ptr<AlertStore> alert_store_;
  std::unique_ptr<IntakeStore> alert_intake_store_;
  std::unique_ptr<SuspectStore> suspect_store_;
  QuarantineProcess quarantine_;
  PluginSenderFactory factory_;
  Settler settler_;
  Executor executor_;
  Planner planner_;
  HostLiveness liveness_;
  AlertNotifier notifier_;
  ClaimLedger claim_ledger_;
  Maintenance maintenance_;
  ClaimOnInsert claim_on_insert_;
  Claimer claimer_;
  Intake intake_;
  TokenCheck tokens_;
  std::unique_ptr<Server> server_;
};

}  // namespace

int serve(const GlobalOptions& options) {
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = make_log(*config);
  for (const auto& warning : config->warnings) log.warn("config.deprecated", {{"warning", to_string(warning)}});
  LoadedInstallation installation = load_installation(*config, MissingPluginPolicy::tolerate);
  for (const auto& plugin : installation.catalogue->refused())
    log.error("plugin.refused", {{"file", plugin.file}, {"reason", plugin.reason}, {"remedy", plugin.remedy}});
  for (const auto& plugin : installation.catalogue->loaded())
    log.info("plugin.loaded", {{"file", plugin.file}, {"id", plugin.id}, {"version", plugin.version}});
  for (const auto& problem : installation.absent)
    log.error("plugin.missing",
              {{"problem", to_string(problem)}, {"effect", "its submissions are taken and wait until that is mended"}});
  if (!installation.problems.empty()) {
    print(installation.problems);
    return failed("not started: see the problems above");
  }
  auto database = open_database(*config, log);
  if (!database) return failed(database.error().what);
  const auto remarks = check_server(database->address);
  if (!remarks) return failed(remarks.error().what);
  for (const auto& remark : *remarks) log.warn("database.remark", {{"remark", remark}});
  if (const auto ready = ready_schema(*config, *database, log); !ready) return failed(ready.error().what);
  if (const auto allowed = check_rights(database->address); !allowed) return failed(allowed.error().what);
  const auto shards = read_shards(database->address);
  if (!shards) return failed(shards.error().what);
  const auto loaded = make_form_store(database->address, *shards, config->kept_forms)
                          ->load(installation.registry->forms(), {host_name(), "system", "start"});
  if (!loaded) return failed(loaded.error().what);
  auto secrets = Secrets::resolve(config->secrets);
  if (!secrets) return failed("a secret has gone since it was checked");

  raise_file_limit();
  const sigset_t signals = block_signals();
  const SystemClock clock;
  auto links = make_links(config->link_key, *secrets, clock);
  if (!links) return failed("links.key: " + links.error().what);
  auto folder = BreadcrumbFolder::open(breadcrumb_place(*config));
  if (!folder)
    log.warn("breadcrumbs.off",
             {{"error", folder.error().what}, {"effect", "a delivery that brings this host down is not known as such"}});
  auto host = std::make_unique<Host>(*config, installation, std::move(*installation.registry), std::move(*secrets),
                                     std::move(*links), database->address, *shards, folder ? std::move(*folder) : nullptr, log);
  if (const auto listening = host->listen(); !listening) {
    static_cast<void>(host->drain());
    return failed(listening.error().what);
  }
  for (int signal = 0; signal != SIGTERM && signal != SIGINT;) {
    sigwait(&signals, &signal);
    if (signal == SIGHUP) host->reload();
  }
  std::jthread last_resort([&](std::stop_token stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, config->timeouts.drain + kLastWrites + kLastResort, [] { return false; });
    if (stop.stop_requested()) return;
    log.error("host.drain_hangs", {{"remedy", "other hosts take over what it had; see what the database does"}});
    log.flush();
    std::_Exit(1);
  });
  const bool clean = host->drain();
  const int code = host->why_outdated().empty() ? 0 : failed("stopped: " + host->why_outdated());
  if (clean) {
    host.reset();
    return code;
  }
  // A plugin never came back from a call: its thread cannot be ended, so neither can this process in the ordinary way.
  log.error("host.abandoned_threads", {{"remedy", "see plugin.violation above"}});
  log.flush();
  database->server.reset();
  static_cast<void>(host.release());
  std::_Exit(code);
}

}  // namespace waybill
