// The host's sessions with the database: each part that works on a thread of its own has its own.
#pragma once

#include <memory>
#include <vector>

#include "api/form_pool.h"
#include "api/notify_pool.h"
#include "api/read_pool.h"
#include "api/token_check.h"
#include "config/config.h"
#include "store/pg_stores.h"

namespace waybill {

// The most sessions of a host, and of the quarantine and commands that run beside it (docs/operations/sizing.md).
inline constexpr int kMaxHostSessions = 29;
inline constexpr int kSessionsBeside = 6;

struct Stores {
  Stores(const DatabaseAddress& address, int shards, const Config& config, std::shared_ptr<const Vault> vault);

  std::unique_ptr<SettleStore> settle, rescue_settle;
  std::unique_ptr<QueueStore> queue, rescue_queue;
  std::unique_ptr<MaintenanceStore> maintenance;
  std::unique_ptr<WaitingStore> waiting;  // has a session only while it does something
  std::unique_ptr<RescueStore> rescue;
  std::unique_ptr<FormStore> maintenance_forms;
  std::unique_ptr<PipelineStore> maintenance_pipelines;
  std::unique_ptr<AlertStore> alerts;
  std::unique_ptr<IntakeStore> alert_intake;
  std::unique_ptr<SuspectStore> suspects;
  std::unique_ptr<NotifyStore> maintenance_notify;
  std::unique_ptr<FailureCheckStore> failure_checks;
  std::unique_ptr<ArchiveStore> archive;
  std::unique_ptr<TokenStore> maintenance_tokens;
  std::unique_ptr<MonitorStore> monitor;
};

// Longer than a page of a provider's list takes.
Millis failure_check_lease(const Config& config);
NotifyStoreSettings notify_settings(const Config& config, std::shared_ptr<const Vault> vault);

// For threads that are made with their sessions.
std::vector<std::unique_ptr<IntakeStore>> intake_stores(const DatabaseAddress& address);
std::vector<ReadPool::Session> read_sessions(const DatabaseAddress& address, int shards);
std::vector<TokenCheck::Session> token_sessions(const DatabaseAddress& address);
std::vector<NotifyPool::Session> notify_sessions(const DatabaseAddress& address, int shards, const NotifyStoreSettings& settings);
std::vector<FormSession> form_sessions(const DatabaseAddress& address, int shards, const Config& config);

}  // namespace waybill
