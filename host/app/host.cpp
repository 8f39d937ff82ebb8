// Constructing the parts, starting them from the back of the pipeline to its front, and draining them from front to back.
#include "app/host.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "app/host_identity.h"
#include "app/reach_task.h"
#include "app/store_probe.h"
#include "base/version.h"
#include "egress/tenant_url.h"
#include "limits/release.h"
#include "maintenance/archive_task.h"
#include "maintenance/monitor.h"
#include "store/organisations/org_keys.h"
#include "store/pg/schema_version.h"

namespace waybill {
namespace {

constexpr auto kStale = std::chrono::seconds(3);  // the age of a sign of life from which on the host is not ready
constexpr auto kNoKey = "there are channels with secrets, and notify.key names no master key";
constexpr int kWaitsInTurn = 5;
constexpr auto kLastSpans = std::chrono::seconds(2);   // of a drain, to send what waits
constexpr auto kLastWrites = std::chrono::seconds(5);  // of a drain, after the time of the work

SettlerSettings settler_settings(const Config& config, const std::string& name, Tracer& tracer) {
  return {.actor = name,
          .retry = config.retry,
          .cooldown = config.timeouts.cooldown,
          .outage = config.timeouts.outage,
          .failure_period = config.alerts.digest_every,
          .channel_patience = config.notify.disable_after,
          .kept_notifications = config.kept_notifications,
          .tracer = config.tracing.is_on() ? &tracer : nullptr,
          .objective = config.metrics.objective,
          .batch = config.limits.claim_batch};
}

ClaimerSettings claimer_settings(const Config& config, int shards) {
  return {.shards = shards,
          .batch = config.limits.claim_batch,
          .lease = config.timeouts.lease,
          .poll = config.timeouts.poll,
          .probe = config.timeouts.attempt + config.timeouts.attempt_grace + Millis{1000}};
}

// Who reads /metrics on the API's listener; nobody if they have one of their own.
std::optional<http::Role> metrics_readers(const MetricsAccess& access) {
  if (access.listen) return std::nullopt;
  return access.is_open ? http::Role::none : http::Role::operator_;
}

// For the listener of the metrics: plain, and open to whoever reaches its address.
Config watching_config(Config config) {
  config.listen = *config.metrics.listen;
  config.tls = {};
  return config;
}

}  // namespace

namespace {
std::function<void(std::size_t)> tell_late(Log& log, const char* sessions) {
  return [&log, sessions](std::size_t count) {
    log.warn("requests.dropped",
             {{"count", count}, {"sessions", sessions}, {"effect", "they had waited for the database for too long and got 503"}});
  };
}
}  // namespace

Host::Host(HostParts parts)
    : config_(parts.config),
      installation_(parts.installation),
      log_(parts.log),
      name_(host_name()),
      shards_(parts.shards),
      ids_(parts.ids),
      clock_(parts.clock),
      tracer_(config_.tracing.is_on(), config_.tracing.ratio, clock_, metrics_),
      folder_(std::move(parts.folder)),
      crashes_(folder_ ? std::make_unique<Crashes>(*folder_, clock_, log_, metrics_) : nullptr),
      breadcrumbs_(begin_breadcrumbs()),
      gate_(folder_.get(), breadcrumbs_,
            [this](const std::string& type) { return plugin_file(config_, *installation_.catalogue, type); }),
      registry_(config_, installation_, std::move(parts.registry), std::move(parts.secrets), log_),
      vault_(vault_of(*registry_.secrets()->current(), config_.notify.key)),
      watch_(*parts.address.watch),
      stores_(parts.address, shards_, config_, vault_),
      pool_(read_sessions(parts.address, shards_), config_.timeouts.answer, {}, tell_late(log_, "read")),
      form_pool_(form_sessions(parts.address, shards_, config_), config_.timeouts.answer + kOperatorsTime, {},
                 tell_late(log_, "forms")),
      notify_pool_(notify_sessions(parts.address, shards_, notify_settings(config_, vault_)),
                   config_.timeouts.answer + kOperatorsTime, {}, tell_late(log_, "notifications")),
      waiters_(pool_, clock_),
      tokens_(token_sessions(parts.address), clock_,
              {.failed_sign_ins = config_.limits.failed_sign_ins, .patience = config_.timeouts.answer}, log_, metrics_),
      factory_(
          *installation_.catalogue, config_, registry_.secrets(),
          {.templates = [this] { return templates_of(registry_.current()); }, .links = std::move(parts.links)}, clock_, log_,
          metrics_, breadcrumbs_, [this](const Contract& contract) { return registry_.transport_of(contract); },
          [this](const std::string& client) { return registry_.oauth2_transport(client); }),
      executor_(factory_, clock_,
                {.attempt_timeout = config_.timeouts.attempt,
                 .grace = config_.timeouts.attempt_grace,
                 .time_limit = [this](const Contract& contract) { return registry_.current()->time_limit(contract); }},
                log_, metrics_),
      sender_renewal_(config_, *installation_.catalogue, factory_, executor_, log_, metrics_),
      planner_(
          config_.limits, [this](const std::string& type) { return concurrency(type); }, config_.timeouts.attempt / 4),
      settler_(
          *stores_.settle, answers_, clock_, settler_settings(config_, name_, tracer_), [this] { return planner_.held(); },
          [this](const Settler::WriteResult& written) {
            reach_.ended(written.batch);
            note_success(written.batch);
            if (written.outage_began) signal_.walk();  // what cools down is seen before anything else is claimed
            release(planner_, ledger_, signal_, written.batch, written.unwritten, clock_.now());
            metrics_.in_flight(planner_.held());
            waiters_.moved(written.moved);
          },
          log_, metrics_),
      liveness_(parts.address, name_, program_version(), config_.timeouts.lease),
      notifier_(
          *stores_.alerts, *stores_.alert_intake,
          {.shards = shards_,
           .quiet = config_.alerts.quiet,
           .stuck = config_.alerts.stuck,
           .digest_every = config_.alerts.digest_every},
          [this] { return registry_.alert_target(); }, [this](const std::string& type) { return blocked_reason(type); },
          [this] { signal_.walk(); }, log_, metrics_),
      hang_alerts_(name_),
      quarantine_(config_.file, config_.timeouts.lease, *stores_.suspects, clock_, log_),
      failure_checks_(
          config_, *stores_.failure_checks, [this] { return maintenance_.host(); }, clock_, log_),
      publisher_(
          registry_, [this] { return maintenance_.host(); }, log_, metrics_),
      recorder_(config_, make_registry_version_store(parts.address), name_, log_),
      maintenance_(liveness_, *stores_.rescue, *stores_.rescue_queue, *stores_.rescue_settle, periodic_tasks(), clock_,
                   {.shards = shards_,
                    .actor = name_,
                    .takeover = config_.timeouts.takeover,
                    .lease = config_.timeouts.lease,
                    .objective = config_.metrics.objective,
                    .crashes = crashes_.get(),
                    .tracer = config_.tracing.is_on() ? &tracer_ : nullptr},
                   {.wake = [this] { signal_.walk(); },
                    .rescued = [this] { executor_.withdraw(); },
                    .open_claims = [this] { return ledger_.open(); },
                    .outdated = [this](const std::string& why) { outdated(why); },
                    .database_time = [this](Timestamp now, Clock::Monotonic at) { follow_clock(now, at); }},
                   log_, metrics_),
      claim_on_insert_(
          planner_, ledger_, clock_, config_.timeouts.lease, [this] { return claiming_host(); },
          [this](std::vector<Job> jobs) { execute(std::move(jobs)); }),
      claimer_(
          *stores_.queue, planner_, ledger_, signal_, reach_, clock_, claimer_settings(config_, shards_),
          [this] { return claiming_host(); }, [this](std::vector<Job> jobs) { execute(std::move(jobs)); }, log_),
      forms_health_("submissions of forms", clock_),
      pipelines_health_("submissions of pipelines", clock_),
      events_health_("alert events", clock_),
      intake_(
          intake_stores(parts.address), clock_, {.shards = shards_, .patience = config_.timeouts.answer},
          {.claim = [this](Shard shard, const std::vector<InsertGroup>& all) { return claim_on_insert_.ask(shard, all); },
           .claimed = [this](Shard shard, const InsertClaim& claim, std::vector<InsertGroup> all,
                             ClaimResult rows) { claim_on_insert_.carried_out(shard, claim, std::move(all), std::move(rows)); },
           .unconfirmed =
               [this](Shard shard, const InsertClaim& claim, const std::vector<InsertGroup>& all) {
                 claim_on_insert_.unconfirmed(shard, claim, all);
                 signal_.walk();
               },
           .is_due =
               [this](Shard shard, const std::vector<InsertGroup>& routes) {
                 planner_.wake(shard, routes, clock_.now());
                 signal_.wake();
               }},
          log_),
      form_intake_(
          *installation_.catalogue, [this] { signal_.walk(); }, &forms_health_),
      pipeline_intake_([this] { signal_.walk(); }, &pipelines_health_),
      event_intake_([this] { signal_.walk(); }, &events_health_),
      body_pool_(std::vector<BodyReader>(std::max(2u, std::thread::hardware_concurrency())), config_.timeouts.answer,
                 {.bytes = 4 * config_.limits.http_bytes}, tell_late(log_, "bodies")),
      socket_(std::move(parts.socket)),
      metrics_socket_(std::move(parts.metrics_socket)) {}

Result<void> Host::start() {
  if (folder_ && folder_->is_careful()) {
    log_.error("host.careful_start", {{"why", "hosts died here outside of any delivery, three within a minute"},
                                      {"effect", "action types begin one by one, to find the one that does it"}});
    gate_.begin_one_by_one(registry_.action_types(), clock_.now());
  }
  metrics_.build_info(built_version(), std::to_string(program_version()));
  note_missing_plugins();
  for (const auto& plugin : installation_.catalogue->loaded())
    for (const auto& type : plugin.action_types) metrics_.plugin_loaded(type, plugin.id, plugin.version);
  tokens_.start();
  pool_.start();
  form_pool_.start();
  notify_pool_.start();
  body_pool_.start();
  waiters_.start();
  settler_.start();
  if (config_.tracing.is_on()) start_tracing();
  executor_.start([this](std::vector<Finished> finished) { settler_.take(std::move(finished)); },
                  [this](const Hang& hang) {
                    hang_alerts_.note(hang.action_type, installation_.catalogue->name_of(hang.action_type), hang.died,
                                      hang.job.get(), hang.pause);
                  });
  make_senders();
  if (const auto checked = check_keys(); !checked)
    log_.warn("maintenance.failed", {{"task", "keys"}, {"error", checked.error().what}});
  if (crashes_)
    if (const auto reported = crashes_->report(*stores_.suspects); !reported)
      log_.warn("maintenance.failed", {{"task", "crashes"}, {"error", reported.error().what}});
  if (const auto heard = hear_drain(); !heard)  // it claims nothing until the periodic task has heard it
    log_.warn("maintenance.failed", {{"task", "host_facts"}, {"error", heard.error().what}});
  recorder_.in_force({name_, "system", "start"}, registry_.report().digest);
  maintenance_.start();
  planner_.observe(registry_.rates(), clock_.now());
  claimer_.start();
  intake_.start();
  return listen();
}

void Host::start_tracing() {
  exporter_ = std::make_unique<SpanExporter>(
      tracer_, ExporterSettings{.config = config_.tracing, .resource = {config_.tracing.service_name, built_version(), name_}},
      std::make_shared<const EgressPolicy>(config_.egress), registry_.secrets(), clock_, log_, metrics_);
  exporter_->start();
}

Result<void> Host::listen() {
  auto routes =
      all_routes({.intents = {intake_, registry_.live(), pool_, waiters_, clock_, log_, metrics_, installation_.catalogue.get(),
                              ids_, &tracer_},
                  .forms = {form_intake_, registry_.live(), form_pool_, log_, metrics_, ids_, &tracer_},
                  .pipelines = {pipeline_intake_, registry_.live(), form_pool_, log_, metrics_, ids_, &tracer_},
                  .dead = {registry_.live(), *installation_.catalogue, form_pool_, [this] { signal_.walk(); }, log_, ids_},
                  .notify = {.intake = event_intake_,
                             .pool = notify_pool_,
                             .waiters = waiters_,
                             .types = *installation_.catalogue,
                             .check_url = [policy = std::make_shared<const EgressPolicy>(config_.egress)](
                                              const std::string& url) { return check_tenant_url(url, *policy); },
                             .has_key = vault_->has_key(),
                             .per_org = config_.limits.per_org_channels,
                             .per_channel = config_.limits.per_channel,
                             .log = log_,
                             .ids = ids_,
                             .tracer = &tracer_},
                  .reload =
                      [this](FormStore& store, const std::string& actor) {
                        return reload_registry(store, {actor, "admin", "reload"}, 0);
                      },
                  .readiness = readiness(),
                  .metrics_readers = metrics_readers(config_.metrics),
                  .large_bodies = &body_pool_,
                  .closed = [this] { return why_outdated(); }});
  http::Authenticate authenticate;
  if (!config_.auth_none)
    authenticate = [this](const http::Request& request, std::function<void(http::Admission)> answer) {
      tokens_(request, std::move(answer));
    };
  auto server = http::Server::listen(config_, std::move(routes), std::move(authenticate), log_, metrics_, std::move(socket_));
  TRY(server);
  server_ = std::move(*server);
  if (config_.metrics.listen) {
    auto watching = http::Server::listen(watching_config(config_), watching_routes(metrics_, readiness()), nullptr, log_,
                                         metrics_, std::move(metrics_socket_));
    TRY(watching);
    metrics_server_ = std::move(*watching);
    metrics_server_->start();
  }
  server_->start();
  is_listening_ = true;
  TRY(renew_tls());
  write_port_file();
  log_.info("host.ready", {{"name", name_},
                           {"listen", config_.listen.host + ":" + std::to_string(server_->port())},
                           {"tls", config_.tls.certificate.empty() ? "off" : "on"},
                           {"targets", registry_.current()->targets().size()},
                           {"registry", registry_.report().digest}});
  return {};
}

// Renamed into place, so that nobody reads half a number.
void Host::write_port_file() const {
  if (config_.port_file.empty()) return;
  const auto fresh = config_.port_file.string() + ".new";
  std::ofstream out(fresh);
  out << server_->port() << "\n";
  if (metrics_server_) out << metrics_server_->port() << "\n";
  out.close();
  std::filesystem::rename(fresh, config_.port_file);
}

// Bad files leave the certificate as it was. The log says so once for each change.
Result<void> Host::renew_tls() {
  if (!is_listening_) return {};
  const auto renewed = server_->renew_tls();
  if (!renewed)
    log_.error("http.tls_not_renewed", {{"error", renewed.error().what}, {"effect", "the certificate of before is served"}});
  else if (*renewed)
    log_.info("http.tls_renewed", {{"certificate", config_.tls.certificate.string()}});
  if (const auto expires = server_->certificate_expires()) metrics_.tls_certificate_ends(static_cast<double>(*expires));
  return {};
}

// Whoever ran `waybill reload` left word of it before the signal; anybody else's signal has no name.
void Host::reload() {
  form_pool_.ask([this](FormSession& session) {
    const auto newest = session.forms->newest_reload(name_);
    const bool is_new = newest && *newest && (*newest)->id > registry_.report().request;
    if (is_new)
      reload_registry(*session.forms, {(*newest)->asked_by, "admin", "reload"}, (*newest)->id);
    else
      reload_registry(*session.forms, {name_, "system", "reload"}, 0);
  });
}

// In a thread of the forms' pool, where a file that is slow to read holds up no signal.
ReloadResult Host::reload_registry(FormStore& store, const LoadActor& actor, std::int64_t request) {
  static_cast<void>(renew_tls());
  auto result = registry_.reload(store, actor, sender_renewal_, request);
  planner_.observe(registry_.rates(), clock_.now());
  if (!result.plugin_changes.empty()) quarantine_.renew();
  if (result.problems.empty() && !result.error) {
    recorder_.in_force(actor, result.digest);
    if (const auto noted = recorder_.record(); !noted)  // the periodic task tries again
      log_.warn("maintenance.failed", {{"task", "registry_versions"}, {"error", noted.error().what}});
  }
  if (const auto told = publisher_.publish(store); !told)
    log_.warn("maintenance.failed", {{"task", "registry"}, {"error", told.error().what}});
  return result;
}

std::vector<const Pulse*> Host::pulses() const {
  std::vector<const Pulse*> all{&claimer_.pulse(), &settler_.pulse()};
  for (const auto& pulse : intake_.pulses()) all.push_back(&pulse);
  if (server_)
    for (const auto* pulse : server_->pulses()) all.push_back(pulse);
  return all;
}

// A turn may wait for the database several times, and each wait is bounded.
std::chrono::milliseconds Host::longest_turn() const {
  const auto& timeouts = config_.database.timeouts;
  return kWaitsInTurn * std::max({timeouts.claim, timeouts.settle, timeouts.intake});
}

std::string Host::status() const {
  if (auto why = not_ready(); !why.empty()) return "not ready: " + why;
  std::string status = "ready, " + std::to_string(planner_.held()) + " deliveries under way";
  if (const auto report = registry_.report(); report.verdict == "refused")
    status += "; the last reload was refused: see registry.refused in the log";
  return status;
}

Millis Host::max_drain() const { return config_.timeouts.drain + kLastWrites; }

// No statement outlives the time of the work by more than kLastWrites, so a database that hangs does not hold this up.
bool Host::drain() {
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
  if (metrics_server_) metrics_server_->stop(Millis{1000});
  body_pool_.stop();
  tokens_.stop();
  pool_.stop();
  form_pool_.stop();
  notify_pool_.stop();
  if (exporter_) exporter_->stop(kLastSpans);
  maintenance_.stop();
  if (breadcrumbs_) breadcrumbs_->remove();
  log_.info("host.stopped", {{"name", name_}});
  return clean;
}

// Reads the files that dead hosts of this machine left before this host begins one.
std::shared_ptr<BreadcrumbFile> Host::begin_breadcrumbs() {
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

std::vector<PeriodicTask> Host::periodic_tasks() {
  std::vector<PeriodicTask> all{
      queue_numbers(*stores_.maintenance, metrics_),
      unregistered_claims(
          *stores_.maintenance, [this] { maintenance_.look_at_claims(); }, [this] { ledger_.done_again(); },
          [this] { return watch_.health("liveness").sessions; }, clock_, log_),
      partitions(*stores_.maintenance), old_outages(*stores_.maintenance, config_.timeouts.outage, log_)};
  all.push_back({"host_facts", Seconds{1}, [this] { return tell_facts(); }});
  for (auto& task : notifier_.tasks()) all.push_back(std::move(task));
  all.push_back(reach_task(
      reach_, *stores_.maintenance,
      {.host = [this] { return maintenance_.host(); },
       .all_keys = [this] { return cooldown_keys(*registry_.current()); },
       .reaches = reaches_by_connecting(
           config_.senders, std::make_shared<const EgressPolicy>(config_.egress), [this] { return registry_.current(); },
           [this](const Contract& contract) { return registry_.transport_of(contract); }),
       .recovered = [this] { signal_.walk(); }},
      clock_, log_));
  all.push_back(store_probe(*stores_.maintenance, {&intake_.health(), &forms_health_, &pipelines_health_, &events_health_}));
  all.push_back(form_sweep(
      *stores_.maintenance_forms, shards_, [this] { signal_.walk(); }, log_));
  all.push_back(form_retention(*stores_.maintenance_forms, shards_, log_));
  all.push_back(pipeline_sweep(
      *stores_.maintenance_pipelines, shards_, [this] { signal_.walk(); }, log_));
  all.push_back(pipeline_rates(
      *stores_.maintenance_pipelines, [this] { return registry_.current()->pipelines(); }, metrics_));
  all.push_back({"keys", Seconds{60}, [this] { return check_keys(); }});
  if (!config_.tls.certificate.empty()) all.push_back({"tls", Seconds{10}, [this] { return renew_tls(); }});
  all.push_back(orphaned_events(*stores_.maintenance_notify, config_.notify.orphan_scan, log_));
  all.push_back(old_secrets(*stores_.maintenance_notify));
  all.push_back(expiry(*stores_.maintenance, *stores_.waiting, name_, metrics_));
  all.push_back(retention(*stores_.maintenance, shards_,
                          {{kIntentKind, config_.kept_intents}, {kNotificationKind, config_.kept_notifications}}, log_));
  all.push_back(listing(*stores_.maintenance));
  all.push_back(standing_counts(*stores_.monitor, log_, metrics_));
  all.push_back(objective(*stores_.monitor, config_.metrics.objective, log_, metrics_));
  all.push_back({"missing_plugins", Seconds{10}, [this]() -> Result<void> {
                   note_missing_plugins();
                   return {};
                 }});
  all.push_back({"token_uses", Seconds{10}, [this] { return tokens_.note_uses(*stores_.maintenance_tokens); }});
  if (config_.monitor_interval > Millis{0}) all.push_back(monitor(*stores_.monitor, config_.monitor_interval, log_, metrics_));
  all.push_back(archive_task(*stores_.archive, shards_,
                             {.ages = {.ended = config_.archive.completed_after, .blocked = config_.archive.failed_after},
                              .delete_after = config_.archive.delete_after},
                             log_));
  if (crashes_) all.push_back(crashes_->task(*stores_.suspects));
  all.push_back(hang_alerts_.task(*stores_.suspects));
  all.push_back(quarantine_.task([this] { return may_claim_.load(); }));
  all.push_back(publisher_.task(*stores_.maintenance_forms));
  all.push_back(recorder_.task());
  all.push_back(failure_checks_.task());
  all.push_back({"start_gate", Millis{500}, [this]() -> Result<void> {
                   if (!gate_.look(clock_.now())) return {};
                   make_senders();
                   signal_.walk();
                   return {};
                 }});
  return all;
}

// Of what the registry and the settings of senders name. Only the thread of the periodic tasks calls it, and start() before that.
void Host::note_missing_plugins() {
  auto types = registry_.action_types();
  for (const auto& [type, settings] : config_.senders) types.push_back(type);
  for (const auto& type : missing_plugins_) metrics_.plugin_missing(type, false);
  missing_plugins_.clear();
  for (const auto& type : types)
    if (installation_.catalogue->find(type) == nullptr && missing_plugins_.insert(type).second)
      metrics_.plugin_missing(type, true);
}

// What no target and no form names stays out of this process.
void Host::make_senders() {
  for (const auto& type : registry_.action_types())
    if (gate_.is_open(type)) static_cast<void>(executor_.state(type));
}

std::string Host::blocked_reason(const std::string& action_type) const {
  if (auto closed = gate_.blocked_reason(action_type); !closed.empty()) return closed;
  switch (executor_.state(action_type)) {
    case Executor::State::missing:
      if (const auto why = executor_.refusal(action_type); !why.empty() && installation_.catalogue->find(action_type) != nullptr)
        return "the plugin for action type " + action_type + " gave no sender here: " + why;
      return "no plugin for action type " + action_type + " is running here";
    case Executor::State::stuck:
      return "the plugin for action type " + action_type + " hung here several times; it pauses, and is tried again by itself";
    case Executor::State::ready:
      break;
  }
  return {};
}

std::size_t Host::concurrency(const std::string& action_type) const {
  const bool may_run = gate_.is_open(action_type) && executor_.state(action_type) == Executor::State::ready;
  return may_run ? executor_.concurrency(action_type) : 0;
}

void Host::execute(std::vector<Job> jobs) {
  metrics_.in_flight(planner_.held());
  executor_.execute(std::move(jobs));
}

// What is sealed with a master key that this host does not have waits, and nothing else does.
Result<void> Host::check_keys() {
  const auto lost = stores_.maintenance_notify->lost_keys();
  TRY(lost);
  std::map<std::string, std::size_t> channels;  // by master key
  for (const auto& key : *lost)
    if (key.channels > 0) channels[key.master] += key.channels;
  std::string locked;
  Result<void> told;
  for (const auto& [master, count] : channels) {
    locked.append(locked.empty() ? "" : ", ").append("master key " + master + ": " + std::to_string(count) + " channel(s)");
    const auto raised =
        stores_.alerts->remind(kDefaultOrg, "secret_locked", master,
                               "a host has no master key " + master + ", which seals the secrets of " + std::to_string(count) +
                                   " channel(s): what goes to them waits, unless another host has it",
                               config_.alerts.quiet);
    if (!raised) told = tl::unexpected(raised.error());
  }
  const std::lock_guard lock(locked_mutex_);
  if (locked != locked_ && !locked.empty())
    log_.error("keys.wrong", {{"why", vault_->has_key() ? kWrongMasterKey : kNoKey},
                              {"locked", locked},
                              {"effect", "deliveries to these channels wait; all others go on"},
                              {"remedy", "give notify.key the master key that sealed them, or see `waybill keys give-up`"}});
  locked_ = locked;
  return told;
}

std::vector<std::string> Host::remarks() const {
  std::vector<std::string> all;
  if (const auto skew = skew_.load(); skew != 0)
    all.push_back("clock.skew: this machine's clock is " + std::to_string(std::abs(skew)) + " s " +
                  (skew > 0 ? "ahead of" : "behind") + " the database's");
  const std::lock_guard lock(locked_mutex_);
  if (!locked_.empty())
    all.push_back(std::string(vault_->has_key() ? kWrongMasterKey : kNoKey) + ": deliveries to these channels wait (" + locked_ +
                  ")");
  return all;
}

std::optional<HostId> Host::claiming_host() const {
  return outdated_ || !may_claim_ || reach_.is_cut_off() ? std::nullopt : maintenance_.host();
}

// The schema is newer than this program may use: from now on it claims and takes in nothing, and it drains.
void Host::outdated(const std::string& why) {
  why_outdated_ = why;
  outdated_ = true;
  kill(getpid(), SIGTERM);
}

std::string Host::why_outdated() const { return outdated_ ? why_outdated_ : ""; }

std::string Host::unable() const {
  if (outdated_) return why_outdated_;
  if (draining_) return "the host is draining";
  if (const auto cut_off = reach_.cut_off())
    return "the host reaches no destination since " + format_rfc3339(cut_off->since) + ", while others do";
  const auto health = watch_.health("liveness");
  if (!health.refusal.empty()) return "the database is of no use: " + health.refusal;
  if (!maintenance_.is_up()) return "the database is not available";
  const auto age = std::chrono::duration_cast<Seconds>(std::chrono::steady_clock::now() - health.good_at);
  if (age >= kStale + config_.timeouts.takeover) return "the database has not answered for " + std::to_string(age.count()) + " s";
  for (const auto* health_of_kind : {&intake_.health(), &forms_health_, &pipelines_health_, &events_health_})
    if (auto why = health_of_kind->trouble(); !why.empty()) return why;
  const std::lock_guard lock(drain_mutex_);
  if (!may_claim_ && !drain_by_operator_) return "the database has not said yet whether an operator has drained the host";
  return {};
}

std::string Host::not_ready() const {
  if (auto why = unable(); !why.empty()) return why;
  return drain_by_operator() ? "an operator has drained the host: it claims nothing" : "";
}

HostReadiness Host::readiness() const {
  return {.not_ready = [this] { return not_ready(); }, .remarks = [this] { return remarks(); }};
}

// Signatures carry the database's time, so that all hosts' agree. Logs carry the machine's.
void Host::follow_clock(Timestamp database, Clock::Monotonic at) {
  clock_.follow(database, at);
  const auto skew = clock_.skew();
  metrics_.clock_skew(static_cast<double>(skew.count()));
  const bool is_off = is_too_far(skew);
  const bool was_off = skew_.exchange(is_off ? skew.count() : 0) != 0;
  if (is_off && !was_off)
    log_.warn("clock.skew", {{"seconds_ahead_of_database", skew.count()},
                             {"effect", "signatures carry the database's time; the log carries this machine's"},
                             {"remedy", "let this machine and the database's keep time, such as by NTP"}});
  if (was_off && !is_off) log_.info("clock.right", {{"seconds_ahead_of_database", skew.count()}});
}

}  // namespace waybill
