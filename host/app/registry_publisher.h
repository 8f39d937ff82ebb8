// Tells the other hosts and `waybill reload` which registry this host runs by, and looks whether they run by the same one.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "app/registry_loader.h"
#include "maintenance/periodic_tasks.h"

namespace waybill {

// Safe from any thread.
class RegistryPublisher {
 public:
  // `host`: this host's id; none while the database does not know it.
  RegistryPublisher(const RegistryLoader& registry, std::function<std::optional<HostId>()> host, Log& log, Metrics& metrics)
      : registry_(registry), host_(std::move(host)), log_(log), metrics_(metrics) {}

  Result<void> publish(FormStore& store);  // if there is anything new to say
  PeriodicTask task(FormStore& store);     // publishes what could not be published at once, and compares

 private:
  bool has_news() const;
  Result<void> compare(FormStore& store);

  const RegistryLoader& registry_;
  const std::function<std::optional<HostId>()> host_;
  Log& log_;
  Metrics& metrics_;
  mutable std::mutex mutex_;
  std::optional<std::pair<HostId, RegistryReport>> published_;  // guarded by mutex_
  std::string others_;                                          // that differ, as logged; of the periodic tasks' thread
};

}  // namespace waybill
