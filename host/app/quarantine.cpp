// `waybill quarantine`: what a plugin may have brought a host down with is tried here, alone, where it can bring down nothing
// else.
#include "app/quarantine.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>

#include "app/host_identity.h"
#include "base/database_clock.h"
#include "breadcrumbs/start_gate.h"
#include "claim/jobs.h"
#include "execute/executor.h"
#include "limits/claim_ledger.h"
#include "maintenance/hang_alerts.h"
#include "senders/sender_factory.h"
#include "settle/settler.h"
#include "store/pg/migrations.h"
#include "store/pg_stores.h"
#include "store/queue/host_liveness.h"

namespace waybill {
namespace {

constexpr Millis kShowLife{250};
constexpr Millis kRestWhileOff{60'000};
constexpr Millis kPatience{5'000};  // with a database that is away while it ends

using IsOver = std::function<bool(Millis)>;  // waits at most so long for being told to end

// Its spans would reach no collector: so destinations are told of none, and traces are passed on as they came.
Config without_spans(Config config) {
  config.tracing = {};
  return config;
}

// Claims one suspect, sees it settled, claims the next.
class Quarantine {
 public:
  Quarantine(const Config& config, const LoadedInstallation& contents, Secrets secrets, std::shared_ptr<const GcsLinks> links,
             std::shared_ptr<const Registry> registry, const DatabaseAddress& address, int shards, BreadcrumbFolder* folder,
             std::shared_ptr<BreadcrumbFile> breadcrumbs, DatabaseClock& clock, Log& log)
      : config_(config),
        catalogue_(*contents.catalogue),
        log_(log),
        shards_(shards),
        clock_(clock),
        breadcrumbs_(std::move(breadcrumbs)),
        crumb_(breadcrumbs_ ? breadcrumbs_->line("", "") : Breadcrumb()),
        gate_(folder, nullptr, [this](const std::string& type) { return plugin_file(config_, catalogue_, type); }),
        settle_store_(make_settle_store(address, shards)),
        queue_store_(make_queue_store(address)),
        suspects_(make_suspect_store(address)),
        factory_(
            catalogue_, without_spans(config), std::make_shared<const LiveSecrets>(std::move(secrets)),
            {.templates = [registry] { return templates_of(registry); }, .links = std::move(links)}, clock_, log, metrics_,
            breadcrumbs_, [transports = *contents.transports](const Contract& contract) { return transports.of(contract); },
            [transports = *contents.transports](const std::string& client) { return transports.of_oauth2(client); }),
        settler_(
            *settle_store_, answers_, clock_,
            {.actor = host_name(),
             .retry = config.retry,
             .cooldown = config.timeouts.cooldown,
             .kept_notifications = config.kept_notifications,
             .gather = Millis{0}},
            [] { return std::size_t{1}; }, [this](const Settler::WriteResult&) { settled(); }, log, metrics_),
        executor_(factory_, clock_,
                  {.attempt_timeout = config.timeouts.attempt,
                   .grace = config.timeouts.attempt_grace,
                   .time_limit = [registry](const Contract& contract) { return registry->time_limit(contract); }},
                  log, metrics_),
        hang_alerts_(host_name() + " (quarantine)"),
        liveness_(address, quarantine_name(), program_version(), config.timeouts.lease) {}

  // Until there is no suspect any more, one of them hangs, or `is_over` says so. False when a plugin holds on to a thread: the
  // next suspect is tried where no such thread is.
  bool run(const IsOver& is_over) {
    settler_.start();
    executor_.start([this](std::vector<Finished> finished) { settler_.take(std::move(finished)); },
                    [this](const Hang& hang) {
                      hang_alerts_.note(hang.action_type, catalogue_.name_of(hang.action_type), hang.died, hang.job.get(),
                                        hang.pause);
                      if (hang.died.empty()) hung_ = true;
                    });
    while (!hung_ && !is_over(Millis{0})) {
      const auto host = keep();
      if (!host) break;
      const auto leads = suspects_->lead();
      if (!leads || !*leads) break;
      if (try_one(*host, is_over)) continue;
      const auto next = suspects_->next_due();
      if (!next || !*next) break;
      is_over(kShowLife);  // it is due later, or its target rests
    }
    const bool clean = executor_.stop(config_.timeouts.drain);
    settler_.stop(kPatience);
    if (const auto raised = hang_alerts_.raise(*suspects_); !raised)
      log_.warn("maintenance.failed", {{"task", "plugin_hangs"}, {"error", raised.error().what}});
    crumb_.leave();
    liveness_.leave();
    return clean;
  }

 private:
  Result<HostId> keep() {
    auto host = liveness_.keep();
    if (const auto time = liveness_.time()) clock_.follow(*time, clock_.now());
    return host;
  }

  bool try_one(HostId host, const IsOver& is_over) {
    for (int i = 0; i < shards_; ++i) {
      const auto shard = static_cast<Shard>(i);
      const ClaimToken token = tokens_.next(host);
      const auto asked_at = clock_.now();
      auto claimed = suspects_->claim(shard, host, token, config_.timeouts.lease);
      const auto answered_at = clock_.now();
      if (!claimed) {
        static_cast<void>(queue_store_->give_back(shard, host, token));
        return false;
      }
      if (claimed->rows.empty()) continue;
      auto contract = queue_store_->contract(claimed->rows.front().route);
      if (!contract) {
        log_.error("quarantine.no_contract", {{"route", claimed->rows.front().route.value}, {"error", contract.error().what}});
        static_cast<void>(queue_store_->give_back(shard, host, token));
        return false;
      }
      const auto of_route = std::make_shared<const Contract>(std::move(contract->contract));
      auto jobs =
          jobs_of(std::move(*claimed), token, {asked_at, answered_at, config_.timeouts.lease}, [&](RouteId) { return of_route; });
      try_alone(std::move(jobs.front()), is_over);
      return true;
    }
    return false;
  }

  void try_alone(Job job, const IsOver& is_over) {
    const auto& type = job.contract->action_type;
    gate_.look(clock_.now());
    done_ = false;
    if (!gate_.is_open(type)) {
      const auto now = database_now(job, clock_.now());
      std::vector<Finished> back;
      back.push_back({.job = std::move(job),
                      .how = Finished::How::unattempted,
                      .outcome = {},
                      .started_at = now,
                      .finished_at = now,
                      .not_before = kRestWhileOff});
      settler_.take(std::move(back));
    } else {
      log_.info("quarantine.tries",
                {{"delivery", job.delivery.value}, {"action_type", type}, {"deaths", job.history.lease_lost}});
      // There is nothing here but this delivery: whatever brings the process down from now on is its doing.
      const auto* plugin = catalogue_.plugin_of(type);
      crumb_.name(type, plugin != nullptr ? plugin->id : "");
      crumb_.enter(trail_of(job.delivery, job.history));
      std::vector<Job> alone;
      alone.push_back(std::move(job));
      executor_.execute(std::move(alone));
    }
    while (!wait_settled()) {
      if (is_over(Millis{0})) return;
      static_cast<void>(keep());
    }
    crumb_.leave();
  }

  void settled() {
    const std::lock_guard lock(mutex_);
    done_ = true;
    settled_.notify_all();
  }
  bool wait_settled() {
    std::unique_lock lock(mutex_);
    return settled_.wait_for(lock, kShowLife, [this] { return done_; });
  }

  const Config& config_;
  const Catalogue& catalogue_;
  Log& log_;
  const int shards_;
  DatabaseClock& clock_;
  Metrics metrics_;
  const std::shared_ptr<BreadcrumbFile> breadcrumbs_;
  Breadcrumb crumb_;
  StartGate gate_;
  ClaimLedger tokens_;
  std::mutex mutex_;
  std::condition_variable settled_;
  bool done_ = false;  // guarded by mutex_
  std::unique_ptr<SettleStore> settle_store_;
  std::unique_ptr<QueueStore> queue_store_;
  std::unique_ptr<SuspectStore> suspects_;
  PluginSenderFactory factory_;
  Answers answers_;
  Settler settler_;
  Executor executor_;
  HangAlerts hang_alerts_;
  std::atomic<bool> hung_{false};
  HostLiveness liveness_;
};

}  // namespace

int quarantine(const GlobalOptions& options, pid_t parent) {
  const sigset_t signals = block_signals();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (parent != 0 && getppid() != parent) return 0;

  const auto config = configuration(options);
  if (!config) return 1;
  Log log = make_log(*config);
  LoadedInstallation contents = load_installation(*config, MissingPluginPolicy::tolerate);
  if (!contents.registry) return failed("the registry cannot be read");
  if (!contents.transports) {
    print(contents.problems);
    return failed("a certificate or a key cannot be used");
  }
  const auto database = open_database(*config, log);
  if (!database) return failed(database.error().what);
  const auto schema = schema_state(database->address);
  if (!schema) return failed(schema.error().what);
  if (schema->database != schema->program) return failed("the database's schema is not this program's");
  const auto shards = read_shards(database->address);
  if (!shards) return failed(shards.error().what);
  auto secrets = Secrets::resolve(config->secrets, config->file.string());
  if (!secrets) return failed("a secret is missing");
  DatabaseClock clock;
  auto links = make_links(config->link_key, *secrets, clock);
  if (!links) return failed("links.key: " + links.error().what);
  const auto folder = BreadcrumbFolder::open(breadcrumb_place(*config));
  std::shared_ptr<BreadcrumbFile> breadcrumbs;
  if (folder)
    if (auto begun = (*folder)->begin(BreadcrumbFile::Of::quarantine)) breadcrumbs = std::move(*begun);

  const auto is_over = [&, over = false](Millis wait) mutable {
    if (over) return true;
    const timespec time{wait.count() / 1000, wait.count() % 1000 * 1'000'000};
    const int signal = sigtimedwait(&signals, nullptr, &time);
    return over = signal == SIGTERM || signal == SIGINT;
  };
  auto run = std::make_unique<Quarantine>(*config, contents, std::move(*secrets), std::move(*links),
                                          std::make_shared<const Registry>(std::move(*contents.registry)), database->address,
                                          *shards, folder ? folder->get() : nullptr, breadcrumbs, clock, log);
  const IsOver told = is_over;
  const bool clean = run->run(told);
  if (breadcrumbs) breadcrumbs->remove();
  if (clean) return 0;
  log.flush();
  static_cast<void>(run.release());
  std::_Exit(0);
}

}  // namespace waybill
