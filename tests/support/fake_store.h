// A small world in memory that answers as the database would: stories about single stages of the pipeline run on it. What holds
// for the real stores, tests/contract proves on PostgreSQL.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "store/intake/intake_store.h"
#include "store/queue/queue_store.h"
#include "store/queue/settle_store.h"

namespace waybill::testing {

// Safe from any thread. Time stands still unless the test lets it pass.
class FakeStore final : public QueueStore, public SettleStore {
 public:
  struct Delivery {
    ClaimedRow row;
    std::string target;
    Sha256 payload_hash{};
    Status status = Status::due;
    ClaimToken token;
    HostId host;
    std::string state = "pending";
    std::string reason;
    std::vector<Settlement> settled;  // all that was written of it, in order
  };

  explicit FakeStore(int shards = 1) : shards_(shards) {}

  // ---- what the test does ----
  std::unique_ptr<IntakeStore> intake();  // a session; any number of them
  RouteId add_route(OrgId org, Contract contract);
  DeliveryId add(RouteId route, const std::string& client_ref, Micros due_in = Micros(0));
  void pass(Micros length);
  Result<void> cool_down(std::span<const Cooldown> cooldowns);  // these targets rest, from now on
  void go_away();                                               // from now on every call is Error::unavailable
  void come_back();
  void fail_once(const std::string& name);  // the next call of that name is Error::unavailable
  void during_walk(std::function<void()> hook);
  void lose_answers(int count);                 // so many writing calls are carried out, but answered with Error::unavailable
  void poison(const std::string& client_ref);   // whatever writes this submission, or its delivery, is Error::bug
  void lock(const std::string& client_ref);     // whatever writes its delivery waits in vain for the lock; claims skip it
  void unlock_rows();                           // all of them
  void lock_outage(const std::string& target);  // of this one
  void lock_outages();                          // whatever writes outages waits in vain for the lock
  void poison_route(const std::string& target);
  void hide(RouteId route);  // due_routes() does not tell of it
  void block_submit();       // until unblock_submit()
  void unblock_submit();

  // ---- what the test sees ----
  Timestamp now() const;
  Delivery delivery(DeliveryId id) const;
  std::vector<Delivery> deliveries() const;
  std::vector<Cooldown> cooling() const;
  void end_rest(OrgId org, const std::string& target);
  void permit(std::size_t count);                // to all targets with a rate together, from now on
  void serve_elsewhere(OrgId org);               // another host serves its channels
  void set_rate(std::optional<Rate> rate);       // of all channels
  std::set<OrgId> served() const;                // whose channels the host serves
  void fail_probes(bool denied);                 // another host has them
  void finds_alone(HostFinding finding);         // this host does, and no other has confirmed it
  void have_others();                            // hosts, which confirm nothing that this one finds
  std::vector<FailedAttempts> failures() const;  // as they were added
  std::size_t count(Status status) const;
  std::set<ClaimToken> claims() const;               // that took something and are not forgotten
  std::size_t calls(const std::string& name) const;  // named like the functions below
  std::vector<std::string> order_of_calls() const;
  std::vector<std::size_t> batches(const std::string& name) const;  // sizes of the calls that were carried out

  // ---- as the database ----
  Result<RouteId> route(OrgId org, const Contract& contract);
  Result<std::vector<SubmitResult>> submit(Shard shard, std::span<const NewSubmission> items,
                                           const std::optional<InsertClaim>& claim);
  Result<DueRoutes> due_routes(Shard shard) override;
  Result<ClaimResult> claim(Shard shard, HostId host, ClaimToken token, Millis lease, std::span<const RouteShare> shares,
                            const DoneClaims& done, std::size_t most_bytes) override;
  Result<Cooldowns> cooldowns(HostId host) override;
  Result<void> refute(std::span<const HostFinding> findings, HostId host) override;
  Result<std::vector<Cooldown>> begin_probes(std::span<const Cooldown> targets, HostId host, Millis length) override;
  Result<void> release_probes(std::span<const Cooldown> targets, HostId host) override;
  Result<void> forget(Shard shard, const DoneClaims& done) override;
  Result<void> give_back(Shard shard, HostId host, ClaimToken token) override;
  Result<OrgWeights> weights() override;
  Result<OrderedRates> ordered_rates() override { return OrderedRates{}; }
  Result<std::vector<ServedChannel>> serve_channels(HostId host, std::span<const RouteShare* const> shares,
                                                    Millis lease) override;
  Result<void> leave_channels(HostId host, std::span<const OrgId> orgs) override;
  Result<std::vector<Permits>> take_permits(std::span<const RouteShare* const> shares) override;
  Result<RouteContract> contract(RouteId route) override;
  Result<std::map<RouteId, RouteContract>> contracts(std::span<const RouteId> routes) override;
  Result<SettleResult> settle(Shard shard, std::span<const Settlement> batch) override;
  Result<std::vector<DeliveryId>> save_artifacts(Shard shard, std::span<const ComposeRow> batch) override;
  Result<std::vector<DisabledChannel>> record_channel_results(std::span<const ChannelResult>, Millis) override {
    return std::vector<DisabledChannel>{};
  }
  Result<std::vector<DeliveryId>> locked(Shard shard, std::span<const DeliveryId> deliveries) override;
  Result<std::vector<Cooldown>> blame(std::span<const BlamedTarget> blames, Millis most) override;
  Result<std::vector<Cooldown>> clear(std::span<const ClearedCooldown> cleared) override;
  Result<void> add_failures(std::span<const FailedAttempts> failures, Millis period) override;

 private:
  using Key = std::tuple<std::int64_t, std::string, std::string>;

  Delivery& make(Shard shard, OrgId org, const std::string& kind, const std::string& client_ref, RouteId route, Timestamp due);
  static SubmissionView view_of(const Delivery& delivery);
  Result<void> begin(const std::string& name);
  bool answer_is_lost();

  const int shards_;
  mutable std::mutex mutex_;  // for all below
  std::condition_variable changed_;
  Timestamp now_{1'700'000'000'000'000};
  std::int64_t last_id_ = 0;
  bool away_ = false, held_ = false, probes_denied_ = false, others_ = false, outages_locked_ = false;
  int answers_to_lose_ = 0;
  std::size_t permits_ = 0;
  std::set<std::string> poison_, poison_routes_, failing_, locked_, locked_outages_;
  std::function<void()> during_walk_ = [] {};
  std::set<RouteId> hidden_;
  std::set<OrgId> served_elsewhere_, served_;
  std::optional<Rate> rate_;
  std::map<RouteId, RouteContract> routes_;
  std::map<DeliveryId, Delivery> deliveries_;
  std::map<Key, DeliveryId> by_key_;
  std::map<std::pair<std::int64_t, std::string>, Cooldown> cooldowns_;
  std::vector<FailedAttempts> failures_;
  std::vector<HostFinding> findings_;
  std::set<ClaimToken> claims_;  // that are known
  std::map<std::string, std::size_t> calls_;
  std::vector<std::string> order_of_calls_;
  std::map<std::string, std::vector<std::size_t>> batches_;
};

}  // namespace waybill::testing
