// How many sessions each part has.
#include "app/stores.h"

namespace waybill {
namespace {
constexpr int kIntakeWorkers = 2;
constexpr int kReaders = 3;
constexpr int kTokenSessions = 2;
constexpr int kFormSessions = 3;
constexpr int kNotifySessions = 3;
}  // namespace

Stores::Stores(const DatabaseAddress& address, int shards, const Config& config, std::shared_ptr<const Vault> vault)
    : settle(make_settle_store(address, shards)),
      rescue_settle(make_settle_store(address, shards)),
      queue(make_queue_store(address, vault->names())),
      rescue_queue(make_queue_store(address)),
      maintenance(make_maintenance_store(address)),
      waiting(make_waiting_store(address, shards)),
      rescue(make_rescue_store(address)),
      maintenance_forms(make_form_store(address, shards, config.kept_forms)),
      maintenance_pipelines(make_pipeline_store(address, shards)),
      alerts(make_alert_store(address)),
      alert_intake(make_intake_store(address)),
      suspects(make_suspect_store(address)),
      maintenance_notify(make_notify_store(address, shards, notify_settings(config, std::move(vault)))),
      failure_checks(make_failure_check_store(address, failure_check_lease(config))),
      archive(make_archive_store(address)),
      maintenance_tokens(make_token_store(address, "tasks")),
      monitor(make_monitor_store(address, shards)) {}

std::vector<std::unique_ptr<IntakeStore>> intake_stores(const DatabaseAddress& address) {
  std::vector<std::unique_ptr<IntakeStore>> stores;
  for (int i = 0; i < kIntakeWorkers; ++i) stores.push_back(make_intake_store(address));
  return stores;
}

std::vector<ReadPool::Session> read_sessions(const DatabaseAddress& address, int shards) {
  std::vector<ReadPool::Session> all;
  for (int i = 0; i < kReaders; ++i) all.push_back(make_read_store(address, shards));
  return all;
}

std::vector<TokenCheck::Session> token_sessions(const DatabaseAddress& address) {
  std::vector<TokenCheck::Session> all;
  for (int i = 0; i < kTokenSessions; ++i) all.push_back(make_token_store(address));
  return all;
}

Millis failure_check_lease(const Config& config) { return config.timeouts.lease + std::chrono::seconds(10); }

NotifyStoreSettings notify_settings(const Config& config, std::shared_ptr<const Vault> vault) {
  return {.vault = std::move(vault),
          .debounce = config.notify.debounce,
          .max_wait = config.notify.max_wait,
          .attempts = static_cast<std::uint32_t>(config.notify.attempts),
          .max_bytes = config.limits.body_bytes,
          .replay_rate = config.replay_rate,
          .secret_grace = config.notify.secret_grace};
}

std::vector<NotifyPool::Session> notify_sessions(const DatabaseAddress& address, int shards,
                                                 const NotifyStoreSettings& settings) {
  std::vector<NotifyPool::Session> all;
  for (int i = 0; i < kNotifySessions; ++i) all.push_back(make_notify_store(address, shards, settings));
  return all;
}

std::vector<FormSession> form_sessions(const DatabaseAddress& address, int shards, const Config& config) {
  std::vector<FormSession> all;
  for (int i = 0; i < kFormSessions; ++i)
    all.push_back({make_form_store(address, shards, config.kept_forms), make_dead_store(address, shards, config.replay_rate),
                   make_org_store(address), make_pipeline_store(address, shards), make_target_store(address),
                   make_failed_store(address, config.replay_rate), make_host_store(address), make_registry_version_store(address),
                   make_proof_store(address, shards), make_backlog_store(address, shards), make_waiting_store(address, shards)});
  return all;
}

}  // namespace waybill
