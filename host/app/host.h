// The running host: all its parts, in the order in which they are constructed. A part refers only to parts above it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/token_check.h"
#include "app/failure_check_process.h"
#include "app/http_routes.h"
#include "app/quarantine.h"
#include "app/registry_loader.h"
#include "app/registry_publisher.h"
#include "app/registry_recorder.h"
#include "app/sender_renewal.h"
#include "app/stores.h"
#include "base/database_clock.h"
#include "base/owned_descriptor.h"
#include "base/pulse.h"
#include "breadcrumbs/breadcrumb_folder.h"
#include "breadcrumbs/start_gate.h"
#include "claim/claim_on_insert.h"
#include "claim/claimer.h"
#include "execute/executor.h"
#include "http/server.h"
#include "intake/event_intake.h"
#include "intake/form_intake.h"
#include "intake/intake.h"
#include "intake/pipeline_intake.h"
#include "limits/work_signal.h"
#include "maintenance/alerts.h"
#include "maintenance/crashes.h"
#include "maintenance/hang_alerts.h"
#include "maintenance/maintenance.h"
#include "senders/sender_factory.h"
#include "settle/settler.h"
#include "store/pg/session_watch.h"
#include "tracing/exporter.h"
#include "vault/vault.h"

namespace waybill {

// What a host is made of that others have loaded. The references must outlive it.
struct HostParts {
  const Config& config;
  const LoadedInstallation& installation;
  Registry registry;
  Secrets secrets;
  std::shared_ptr<const GcsLinks> links;
  const DatabaseAddress& address;
  DatabaseClock& clock;  // made before all that signs by it
  int shards;
  PublicIds ids;                             // as the API shows them
  std::unique_ptr<BreadcrumbFolder> folder;  // null: no breadcrumbs are left
  OwnedDescriptor socket, metrics_socket;    // that the service manager listens on for this host; empty: it opens its own
  Log& log;
};

// Constructed, then started, then drained; no thread of it runs before start().
class Host {
 public:
  explicit Host(HostParts parts);

  Result<void> start();              // an error: it cannot listen; drain() it
  void reload();                     // the registry, in the background
  std::string why_outdated() const;  // why this program may not use the database any more; "" while it may
  // Claims nothing more, finishes what is in flight, gives back the rest. False when a plugin holds on to a thread.
  bool drain();
  // Of the threads that nothing works without, once it has started. Valid as long as the host.
  std::vector<const Pulse*> pulses() const;
  std::chrono::milliseconds longest_turn() const;  // that is not too long for any of them
  // As /readyz says, but for an operator's drain: that is no fault, and no service manager waits for its end.
  bool is_ready() const { return unable().empty(); }
  std::string status() const;  // one line for people
  // How long drain() may take at most, without connections that are being opened.
  Millis max_drain() const;

 private:
  std::shared_ptr<BreadcrumbFile> begin_breadcrumbs();
  std::vector<PeriodicTask> periodic_tasks();
  void start_tracing();
  Result<void> listen();
  void write_port_file() const;
  Result<void> renew_tls();
  ReloadResult reload_registry(FormStore& store, const LoadActor& actor, std::int64_t request);
  void make_senders();
  void note_missing_plugins();
  std::string blocked_reason(const std::string& action_type) const;
  std::size_t concurrency(const std::string& action_type) const;
  Result<void> tell_facts();  // in host_facts.cpp
  Result<void> hear_drain();  // the same
  std::optional<HostDrain> drain_by_operator() const;
  void execute(std::vector<Job> jobs);
  void note_success(std::span<const Finished> batch);
  std::optional<HostId> claiming_host() const;  // none while it must not claim
  void outdated(const std::string& why);
  Result<void> check_keys();
  void follow_clock(Timestamp database, Clock::Monotonic at);
  std::vector<std::string> remarks() const;  // of a host that is ready: what is wrong, or waits, all the same
  std::string unable() const;                // why it cannot work; "" if it can
  std::string not_ready() const;             // that, or that it must not
  HostReadiness readiness() const;

  const Config& config_;
  const LoadedInstallation& installation_;
  Log& log_;
  const std::string name_;
  const int shards_;
  const PublicIds ids_;
  DatabaseClock& clock_;
  Metrics metrics_;
  Tracer tracer_;
  std::atomic<bool> draining_{false};
  std::atomic<bool> may_claim_{false};  // no operator keeps it from that, as far as it heard last; false: it has not heard
  mutable std::mutex drain_mutex_;
  std::optional<HostDrain> drain_by_operator_;  // guarded by drain_mutex_
  std::atomic<std::int64_t> succeeded_at_{0};   // microseconds: when it last saw a delivery accepted; 0: it has seen none
  std::atomic<std::int64_t> skew_{0};  // seconds that the machine's clock is ahead of the database's, if that is too much; else 0
  std::string why_outdated_;           // written once, before:
  std::atomic<bool> outdated_{false};

  const std::unique_ptr<BreadcrumbFolder> folder_;
  const std::unique_ptr<Crashes> crashes_;
  const std::shared_ptr<BreadcrumbFile> breadcrumbs_;
  StartGate gate_;
  RegistryLoader registry_;

  const std::shared_ptr<const Vault> vault_;
  mutable std::mutex locked_mutex_;
  std::string locked_;  // master keys that this host does not have, and what they seal; guarded by locked_mutex_
  std::set<std::string> missing_plugins_;  // action types that the gauge says are missing; of start(), then of the periodic tasks

  SessionWatch& watch_;
  Stores stores_;
  ReadPool pool_;
  FormPool form_pool_;
  NotifyPool notify_pool_;
  Waiters waiters_;
  TokenCheck tokens_;

  PluginSenderFactory factory_;
  Executor executor_;
  SenderRenewal sender_renewal_;
  Planner planner_;
  Answers answers_{std::max<Clock::Monotonic::duration>(std::chrono::hours(1), 2 * config_.timeouts.cooldown)};
  HostReach reach_{answers_};
  ClaimLedger ledger_;
  WorkSignal signal_;
  Settler settler_;

  HostLiveness liveness_;
  AlertNotifier notifier_;
  HangAlerts hang_alerts_;
  QuarantineProcess quarantine_;
  FailureCheckProcess failure_checks_;
  RegistryPublisher publisher_;
  RegistryRecorder recorder_;
  Maintenance maintenance_;

  ClaimOnInsert claim_on_insert_;
  Claimer claimer_;
  StoreHealth forms_health_, pipelines_health_, events_health_;
  Intake intake_;
  FormIntake form_intake_;
  PipelineIntake pipeline_intake_;
  EventIntake event_intake_;
  BodyPool body_pool_;
  OwnedDescriptor socket_, metrics_socket_;
  std::unique_ptr<SpanExporter> exporter_;  // null: tracing is off
  std::unique_ptr<http::Server> server_;
  std::atomic<bool> is_listening_ = false;        // both servers are there and answer
  std::unique_ptr<http::Server> metrics_server_;  // null: /metrics is on server_
};

}  // namespace waybill
