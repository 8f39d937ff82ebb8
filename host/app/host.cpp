// Constructing the parts, starting them from the back of the pipeline to its front, and draining them from front to back.
#include "app/host.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "app/host_identity.h"
#include "limits/release.h"

namespace waybill {
namespace {

constexpr auto kStale = std::chrono::seconds(3);       // the age of a sign of life from which on the host is not ready
constexpr auto kLastWrites = std::chrono::seconds(5);  // of a drain, after the time of the work

SettlerSettings settler_settings(const Config& config, const std::string& name) {
  return {.actor = name,
          .retry = config.retry,
          .cooldown = config.timeouts.cooldown,
          .outage = config.timeouts.outage,
          .failure_period = config.alerts.digest_every,
          .batch = config.limits.claim_batch};
}

ClaimerSettings claimer_settings(const Config& config, int shards) {
  return {.shards = shards,
          .batch = config.limits.claim_batch,
          .lease = config.timeouts.lease,
          .poll = config.timeouts.poll,
          .probe = config.timeouts.attempt + config.timeouts.attempt_grace + Millis{1000}};
}

}  // namespace

Host::Host(HostParts parts)
    : config_(parts.config),
      installation_(parts.installation),
      log_(parts.log),
      name_(host_name()),
      shards_(parts.shards),
      folder_(std::move(parts.folder)),
      crashes_(folder_ ? std::make_unique<Crashes>(*folder_, clock_, log_, metrics_) : nullptr),
      breadcrumbs_(begin_breadcrumbs()),
      gate_(folder_.get(), breadcrumbs_,
            [this](const std::string& type) { return plugin_file(config_, *installation_.catalogue, type); }),
      registry_(config_, *installation_.catalogue, std::move(parts.registry), log_),
      watch_(*parts.address.watch),
      stores_(parts.address, shards_, config_),
      pool_(read_sessions(parts.address, shards_), config_.timeouts.answer),
      form_pool_(form_sessions(parts.address, shards_, config_), config_.timeouts.answer + kOperatorsTime),
      waiters_(pool_, clock_),
      tokens_(pool_, clock_),
      factory_(*installation_.catalogue, config_, std::make_shared<const Secrets>(std::move(parts.secrets)),
               {.templates = [this] { return templates_of(registry_.current()); }, .links = std::move(parts.links)}, clock_, log_,
               metrics_, breadcrumbs_),
      executor_(factory_, clock_, {.attempt_timeout = config_.timeouts.attempt, .grace = config_.timeouts.attempt_grace}, log_,
                metrics_),
      planner_(
          config_.limits, [this](const std::string& type) { return concurrency(type); }, config_.timeouts.attempt / 4),
      settler_(
          *stores_.settle, clock_, settler_settings(config_, name_), [this] { return planner_.held(); },
          [this](const Settler::WriteResult& written) {
            release(planner_, ledger_, signal_, written.batch, written.unwritten, clock_.now());
            metrics_.in_flight(planner_.held());
            waiters_.moved(written.moved);
          },
          log_, metrics_),
      liveness_(parts.address, name_),
      notifier_(
          *stores_.alerts, *stores_.alert_intake,
          {.shards = shards_,
           .quiet = config_.alerts.quiet,
           .stuck = config_.alerts.stuck,
           .digest_every = config_.alerts.digest_every},
          [this] { return registry_.alert_target(); }, [this](const std::string& type) { return blocked_reason(type); },
          [this] { signal_.walk(); }, log_, metrics_),
      quarantine_(config_.file, *stores_.suspects, clock_, log_),
      maintenance_(liveness_, *stores_.rescue, *stores_.rescue_queue, *stores_.rescue_settle, periodic_tasks(), clock_,
                   {.shards = shards_,
                    .actor = name_,
                    .takeover = config_.timeouts.takeover,
                    .lease = config_.timeouts.lease,
                    .crashes = crashes_.get()},
                   {.wake = [this] { signal_.walk(); },
                    .rescued = [this] { executor_.withdraw(); },
                    .open_claims = [this] { return ledger_.open(); },
                    .outdated = [this](const std::string& why) { outdated(why); }},
                   log_, metrics_),
      claim_on_insert_(
          planner_, ledger_, clock_, config_.timeouts.lease, [this] { return claiming_host(); },
          [this](std::vector<Job> jobs) { execute(std::move(jobs)); }),
      claimer_(
          *stores_.queue, planner_, ledger_, signal_, clock_, claimer_settings(config_, shards_),
          [this] { return claiming_host(); }, [this](std::vector<Job> jobs) { execute(std::move(jobs)); }, log_),
      intake_(
          intake_stores(parts.address), clock_, {.shards = shards_, .patience = config_.timeouts.answer},
          {.claim = [this](Shard shard, const std::vector<InsertGroup>& all) { return claim_on_insert_.ask(shard, all); },
           .claimed = [this](Shard shard, const InsertClaim& claim, std::vector<InsertGroup> all,
                             ClaimResult rows) { claim_on_insert_.carried_out(shard, claim, std::move(all), std::move(rows)); },
           .lost =
               [this](Shard shard, const InsertClaim& claim, const std::vector<InsertGroup>& all) {
                 claim_on_insert_.unconfirmed(shard, claim, all);
                 signal_.walk();
               },
           .is_due =
               [this](Shard shard, const std::vector<InsertGroup>& routes) {
                 planner_.wake(shard, routes, clock_.now());
                 signal_.wake();
               }},
          log_) {}

Result<void> Host::start() {
  if (folder_ && folder_->is_careful()) {
    log_.error("host.careful_start", {{"why", "hosts died here outside of any delivery, three within a minute"},
                                      {"effect", "action types begin one by one, to find the one that does it"}});
    gate_.begin_one_by_one(registry_.action_types(), clock_.now());
  }
  pool_.start();
  form_pool_.start();
  waiters_.start();
  settler_.start();
  executor_.start([this](std::vector<Finished> finished) { settler_.take(std::move(finished)); });
  make_senders();
  if (crashes_)
    if (const auto reported = crashes_->report(*stores_.suspects); !reported)
      log_.warn("maintenance.failed", {{"task", "crashes"}, {"error", reported.error().what}});
  maintenance_.start();
  claimer_.start();
  intake_.start();
  return listen();
}

Result<void> Host::listen() {
  auto routes =
      all_routes({.intents = {intake_, registry_.live(), pool_, waiters_, clock_, log_, metrics_},
                  .forms = {registry_.live(), *installation_.catalogue, form_pool_, [this] { signal_.walk(); }, log_, metrics_},
                  .reload =
                      [this](FormStore& store, const std::string& actor) {
                        return registry_.reload(store, {actor, "admin", "reload"});
                      },
                  .not_ready = [this] { return not_ready(); },
                  .closed = [this] { return why_outdated(); }});
  Authenticate authenticate;
  if (!config_.auth_none)
    authenticate = [this](const Request& request, std::function<void(Admission)> answer) { tokens_(request, std::move(answer)); };
  auto server = Server::listen(config_, std::move(routes), std::move(authenticate), log_, metrics_);
  if (!server) return tl::unexpected(server.error());
  server_ = std::move(*server);
  server_->start();
  if (!config_.port_file.empty()) {  // renamed into place, so that nobody reads half a number
    const auto fresh = config_.port_file.string() + ".new";
    std::ofstream(fresh) << server_->port() << "\n";
    std::filesystem::rename(fresh, config_.port_file);
  }
  log_.info("host.ready", {{"name", name_},
                           {"listen", config_.listen.host + ":" + std::to_string(server_->port())},
                           {"targets", registry_.current()->targets().size()}});
  return {};
}

void Host::reload() {
  form_pool_.ask([this](FormSession& session) {
    static_cast<void>(registry_.reload(*session.forms, {name_, "system", "reload"}));
  });
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
  pool_.stop();
  form_pool_.stop();
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
  std::vector<PeriodicTask> all{queue_numbers(*stores_.maintenance, metrics_),
                                orphaned_claims(
                                    *stores_.maintenance, [this] { maintenance_.look_at_claims(); },
                                    [this] { return watch_.health("liveness").sessions; }, clock_, log_),
                                partitions(*stores_.maintenance),
                                old_outages(*stores_.maintenance, config_.timeouts.outage, log_)};
  for (auto& task : notifier_.tasks()) all.push_back(std::move(task));
  all.push_back(form_sweep(
      *stores_.maintenance_forms, shards_, [this] { signal_.walk(); }, log_));
  all.push_back(form_retention(*stores_.maintenance_forms, shards_, log_));
  if (crashes_) all.push_back(crashes_->task(*stores_.suspects));
  all.push_back(quarantine_.task());
  all.push_back({"start_gate", Millis{500}, [this]() -> Result<void> {
                   if (!gate_.look(clock_.now())) return {};
                   make_senders();
                   signal_.walk();
                   return {};
                 }});
  return all;
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
      return "no plugin for action type " + action_type + " is running here";
    case Executor::State::stuck:
      return "the plugin for action type " + action_type + " was switched off here after it got stuck";
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

std::optional<HostId> Host::claiming_host() const { return outdated_ ? std::nullopt : maintenance_.host(); }

// The schema is newer than this program may use: from now on it claims and takes in nothing, and it drains.
void Host::outdated(const std::string& why) {
  why_outdated_ = why;
  outdated_ = true;
  kill(getpid(), SIGTERM);
}

std::string Host::why_outdated() const { return outdated_ ? why_outdated_ : ""; }

std::string Host::not_ready() const {
  if (outdated_) return why_outdated_;
  if (draining_) return "the host is draining";
  const auto health = watch_.health("liveness");
  if (!health.refusal.empty()) return "the database is of no use: " + health.refusal;
  if (!maintenance_.is_up()) return "the database is not available";
  const auto age = std::chrono::duration_cast<Seconds>(std::chrono::steady_clock::now() - health.good_at);
  return age < kStale + config_.timeouts.takeover ? ""
                                                  : "the database has not answered for " + std::to_string(age.count()) + " s";
}

}  // namespace waybill
