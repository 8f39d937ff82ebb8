// A store in which there is nothing to maintain; a test overrides what it is about.
#pragma once

#include "store/operations/maintenance_store.h"

namespace waybill::testing {

class NoMaintenance : public MaintenanceStore {
 public:
  Result<RetentionStep> delete_old(Shard, SubmissionId after, std::span<const KeptKind>, std::size_t) override {
    return RetentionStep{.last = after, .is_over = true};
  }
  Result<std::uint64_t> delete_old_events(Millis, std::size_t) override { return 0; }
  Result<bool> list_intents() override { return false; }
  Result<std::optional<ListedPlace>> forget_listed(ListedPlace, Millis, std::size_t) override { return std::nullopt; }
  Result<std::uint64_t> find_unregistered_claims() override { return 0; }
  Result<QueueState> queue_state() override { return QueueState{}; }
  Result<void> tell(HostId, const std::string&) override { return {}; }
  Result<std::optional<HostDrain>> hear(const HeardHost&) override { return std::nullopt; }
  Result<void> make_partitions() override { return {}; }
  Result<std::uint64_t> forget_outages(Millis) override { return 0; }
  Result<void> cut_off(HostId, Timestamp, const std::string&) override { return {}; }
  Result<void> reaches_again(HostId) override { return {}; }
  Result<bool> is_alone(HostId) override { return true; }
  Result<std::vector<Shard>> expired_shards() override { return std::vector<Shard>{}; }
  Result<void> try_to_store() override { return {}; }
};

}  // namespace waybill::testing
