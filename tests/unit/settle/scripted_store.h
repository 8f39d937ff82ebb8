// The settle statements without a database: told what to refuse, and keeping what it is given.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "store/queue/settle_store.h"

namespace waybill::testing {

// Refuses what it is told to.
class ScriptedStore final : public SettleStore {
 public:
  std::function<std::optional<Error>(const Settlement&)> fault = [](const Settlement&) { return std::nullopt; };
  std::function<std::optional<Error>(const ComposeRow&)> artifact_fault = [](const ComposeRow&) { return std::nullopt; };
  std::vector<DeliveryId> handled;
  std::vector<Settlement> written;
  std::vector<BlamedTarget> blames;
  std::vector<Cooldown> outages;  // that they are answered with
  std::size_t statements = 0;

  Result<SettleResult> settle(Shard, std::span<const Settlement> batch) override {
    ++statements;
    for (const auto& one : batch)
      if (auto error = fault(one)) return tl::unexpected(*error);
    SettleResult result;
    for (const auto& one : batch) {
      result.held.push_back(one.delivery);
      result.tokens.push_back(one.token);
      written.push_back(one);
    }
    result.handled = handled;
    return result;
  }
  Result<std::vector<DeliveryId>> save_artifacts(Shard, std::span<const ComposeRow> batch) override {
    ++statements;
    std::vector<DeliveryId> held;
    for (const auto& one : batch) {
      if (auto error = artifact_fault(one)) return tl::unexpected(*error);
      held.push_back(one.delivery);
    }
    return held;
  }
  Result<std::vector<DisabledChannel>> record_channel_results(std::span<const ChannelResult>, Millis) override { return none(); }
  Result<std::vector<DeliveryId>> locked(Shard, std::span<const DeliveryId>) override { return none(); }
  Result<std::vector<Cooldown>> blame(std::span<const BlamedTarget> batch, Millis) override {
    blames.insert(blames.end(), batch.begin(), batch.end());
    return outages;
  }
  Result<std::vector<Cooldown>> clear(std::span<const ClearedCooldown>) override { return none(); }
  Result<void> add_failures(std::span<const FailedAttempts>, Millis) override { return none(); }

 private:
  static tl::unexpected<Error> none() { return fail(Error::Kind::bug, "nobody asks for such a thing"); }
};

}  // namespace waybill::testing
