// The host's sessions with the database: each part that works on a thread of its own has its own.
#pragma once

#include <memory>
#include <vector>

#include "api/form_routes.h"
#include "api/read_pool.h"
#include "config/config.h"
#include "store/pg_stores.h"
#include "store/suspects.h"

namespace waybill {

struct Stores {
  Stores(const DatabaseAddress& address, int shards, const Config& config);

  std::unique_ptr<SettleStore> settle, rescue_settle;
  std::unique_ptr<QueueStore> queue, rescue_queue;
  std::unique_ptr<MaintenanceStore> maintenance;
  std::unique_ptr<RescueStore> rescue;
  std::unique_ptr<FormStore> maintenance_forms;
  std::unique_ptr<AlertStore> alerts;
  std::unique_ptr<IntakeStore> alert_intake;
  std::unique_ptr<SuspectStore> suspects;
};

// For threads that are made with their sessions.
std::vector<std::unique_ptr<IntakeStore>> intake_stores(const DatabaseAddress& address);
std::vector<ReadPool::Session> read_sessions(const DatabaseAddress& address, int shards);
std::vector<FormSession> form_sessions(const DatabaseAddress& address, int shards, const Config& config);

}  // namespace waybill
