// Notes in the database which registry this host runs by, with its files, when it comes into force.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "config/config.h"
#include "maintenance/periodic_tasks.h"
#include "store/forms/form_store.h"
#include "store/operations/registry_version_store.h"

namespace waybill {

// Safe from any thread.
class RegistryRecorder {
 public:
  // `host`: "<machine>:<pid>".
  RegistryRecorder(const Config& config, std::unique_ptr<RegistryVersionStore> store, std::string host, Log& log)
      : config_(config), store_(std::move(store)), host_(std::move(host)), log_(log) {}

  // The registry of this digest is in force from now on, by this actor's doing. Nothing is new if it was so before. Its files are
  // read now: files that have changed since they were loaded are not this registry's, and it is left out.
  void in_force(const LoadActor& actor, const std::string& digest);
  // Writes what was not written yet, the oldest first.
  Result<void> record();
  PeriodicTask task();

 private:
  struct Change {
    RegistryOrigin by;
    std::string digest;
    RegistryFiles files;
  };
  static constexpr std::size_t kMaxUnnoted = 4;  // each with its files in memory

  void tell_lost(const std::string& digest, const std::string& error);

  const Config& config_;
  const std::unique_ptr<RegistryVersionStore> store_;
  const std::string host_;
  Log& log_;
  std::mutex mutex_;            // held while it writes
  std::string noted_;           // the digest of the one that was noted last; guarded by mutex_
  std::deque<Change> changes_;  // that are not written yet, the oldest first; guarded by mutex_
  // Nobody has tried to write it yet. One that could not be written waits for the task's own time.
  std::atomic<bool> has_news_{false};
};

}  // namespace waybill
