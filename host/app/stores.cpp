// How many sessions each part has.
#include "app/stores.h"

namespace waybill {
namespace {
constexpr int kIntakeWorkers = 2;
constexpr int kReaders = 3;
constexpr int kFormSessions = 3;
}  // namespace

Stores::Stores(const DatabaseAddress& address, int shards, const Config& config)
    : settle(make_settle_store(address)),
      rescue_settle(make_settle_store(address)),
      queue(make_queue_store(address)),
      rescue_queue(make_queue_store(address)),
      maintenance(make_maintenance_store(address)),
      rescue(make_rescue_store(address)),
      maintenance_forms(make_form_store(address, shards, config.kept_forms)),
      alerts(make_alert_store(address)),
      alert_intake(make_intake_store(address)),
      suspects(make_suspect_store(address)) {}

std::vector<std::unique_ptr<IntakeStore>> intake_stores(const DatabaseAddress& address) {
  std::vector<std::unique_ptr<IntakeStore>> stores;
  for (int i = 0; i < kIntakeWorkers; ++i) stores.push_back(make_intake_store(address));
  return stores;
}

std::vector<ReadPool::Session> read_sessions(const DatabaseAddress& address, int shards) {
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

}  // namespace waybill
