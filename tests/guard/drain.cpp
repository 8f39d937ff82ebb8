// A backlog of a thousand deliveries on its way through claimer, planner, executor, workers and settler, between stores in memory
// and a sender that accepts at once.
#include <array>
#include <atomic>

#include "claim/claimer.h"
#include "execute/executor.h"
#include "guard/counted.h"
#include "guard/scenarios.h"
#include "limits/release.h"
#include "settle/settler.h"
#include "support/call_builders.h"
#include "unit/settle/jobs.h"

namespace waybill::guard {
namespace {

constexpr std::size_t kDeliveries = 1000;
constexpr std::size_t kRoutes = 4;
constexpr std::size_t kBatch = 250;
constexpr Timestamp kNow = testing::kCreated + Seconds(1);

// The deliveries that are due, a queue for each route. A claim moves rows out of it and does next to nothing beside that.
class Backlog final : public QueueStore {
 public:
  Backlog() {
    for (std::size_t i = 0; i < kDeliveries; ++i) {
      const auto number = static_cast<std::int64_t>(i + 1);
      const RouteId route{static_cast<std::int64_t>(i % kRoutes) + 1};
      rows_[route].push_back({.delivery = {number << kShardBits},
                              .submission = {(number + 1'000'000) << kShardBits},
                              .org = kDefaultOrg,
                              .route = route,
                              .due = testing::kCreated + Micros(number),
                              .action_order = 1,
                              .created = testing::kCreated,
                              .kind = "intent",
                              .client_ref = "6f1c7f0a-53f4-4d0f-9a55-0d4b2f" + std::to_string(100'000 + number),
                              .payload = std::string(1024, 'p'),
                              .artifact = {}});
    }
  }

  Result<DueRoutes> due_routes(Shard) override {
    DueRoutes due{.now = kNow, .routes = {}};
    for (const auto& [route, rows] : rows_)
      if (taken_[route] < rows.size()) due.routes.push_back({route, kDefaultOrg, rows[taken_[route]].due});
    return due;
  }
  Result<ClaimResult> claim(Shard, HostId, ClaimToken, Millis, std::span<const RouteShare> shares, const DoneClaims&,
                            std::size_t) override {
    ClaimResult claimed{.now = kNow, .rows = {}};
    for (const auto& share : shares) {
      auto& rows = rows_[share.route];
      std::size_t& taken = taken_[share.route];
      for (std::size_t i = 0; i < share.count && taken < rows.size(); ++i) claimed.rows.push_back(std::move(rows[taken++]));
    }
    return claimed;
  }
  Result<Cooldowns> cooldowns(HostId) override { return Cooldowns{kNow, {}}; }
  Result<void> refute(std::span<const HostFinding>, HostId) override { return {}; }
  Result<std::vector<Cooldown>> begin_probes(std::span<const Cooldown>, HostId, Millis) override {
    return fail(Error::Kind::bug, "nothing is down");
  }
  Result<void> release_probes(std::span<const Cooldown>, HostId) override { return fail(Error::Kind::bug, "nothing is down"); }
  Result<OrgWeights> weights() override { return OrgWeights{}; }
  Result<OrderedRates> ordered_rates() override { return OrderedRates{}; }
  Result<std::vector<ServedChannel>> serve_channels(HostId, std::span<const RouteShare* const>, Millis) override {
    return fail(Error::Kind::bug, "nothing is of a channel");
  }
  Result<void> leave_channels(HostId, std::span<const OrgId>) override { return {}; }
  Result<std::vector<Permits>> take_permits(std::span<const RouteShare* const>) override {
    return fail(Error::Kind::bug, "nothing has a rate");
  }
  Result<void> forget(Shard, const DoneClaims&) override { return {}; }
  Result<void> give_back(Shard, HostId, ClaimToken) override { return fail(Error::Kind::bug, "no answer was lost"); }
  Result<RouteContract> contract(RouteId route) override {
    auto contract = testing::contract_of(Policy::deadline);
    contract.target = "orders." + std::to_string(route.value);
    return RouteContract{kDefaultOrg, std::move(contract)};
  }
  Result<std::map<RouteId, RouteContract>> contracts(std::span<const RouteId> routes) override {
    std::map<RouteId, RouteContract> all;
    for (const auto route : routes) all.emplace(route, *contract(route));
    return all;
  }

 private:
  std::map<RouteId, std::vector<ClaimedRow>> rows_;
  std::map<RouteId, std::size_t> taken_;
};

// Takes every settlement, and knows how many of them were acceptances.
class Ledger final : public SettleStore {
 public:
  std::atomic<std::size_t> accepted{0};

  Result<SettleResult> settle(Shard, std::span<const Settlement> batch) override {
    SettleResult settled;
    settled.held.reserve(batch.size());
    settled.tokens.reserve(batch.size());
    for (const auto& settlement : batch) {
      settled.held.push_back(settlement.delivery);
      settled.tokens.push_back(settlement.token);
      if (settlement.status == Status::accepted) ++accepted;
    }
    return settled;
  }
  Result<std::vector<DeliveryId>> save_artifacts(Shard, std::span<const ComposeRow>) override {
    return fail(Error::Kind::bug, "nothing is composed here");
  }
  Result<std::vector<DisabledChannel>> record_channel_results(std::span<const ChannelResult>, Millis) override {
    return std::vector<DisabledChannel>{};
  }
  Result<std::vector<DeliveryId>> locked(Shard, std::span<const DeliveryId>) override {
    return fail(Error::Kind::bug, "nothing is locked here");
  }
  Result<std::vector<Cooldown>> blame(std::span<const BlamedTarget>, Millis) override {
    return fail(Error::Kind::bug, "nothing rests here");
  }
  Result<std::vector<Cooldown>> clear(std::span<const ClearedCooldown>) override {
    return fail(Error::Kind::bug, "nothing rests here");
  }
  Result<void> add_failures(std::span<const FailedAttempts>, Millis) override {
    return fail(Error::Kind::bug, "nothing fails here");
  }
};

class AcceptingSender final : public Sender {
 public:
  explicit AcceptingSender(Completions& completions) : completions_(completions) {}
  void send(std::vector<Attempt> attempts) override {
    for (const auto& attempt : attempts) completions_.complete(attempt.call, testing::accepted());
    completions_.flush();
  }
  bool withdraw(CallId) override { return false; }
  void cancel(CallId) override {}
  void ended(CallId) override {}
  std::optional<Inside> inside_plugin() const override { return std::nullopt; }
  void give_up() override {}
  bool join(Millis) override { return true; }

 private:
  Completions& completions_;
};

class AcceptingSenders final : public SenderFactory {
 public:
  Result<std::unique_ptr<Sender>> make(const std::string&, Completions& completions) override {
    return std::make_unique<AcceptingSender>(completions);
  }
  std::size_t senders(std::string_view) const override { return 1; }
  std::size_t calls_per_sender(std::string_view) const override { return kDeliveries; }
};

// The pipeline as `waybill serve` connects it, but for one rule: nothing is claimed before the last batch has been settled, so
// that each run has the same batches however its threads are scheduled.
class HotPath {
 public:
  HotPath()
      : executor_(senders_, clock_, {}, log_, metrics_),
        planner_({}, [this](const std::string& type) { return executor_.concurrency(type); }),
        settler_(
            ledger_, answers_, clock_, {.actor = "box:4711", .retry = {{"default", {}}}, .batch = kBatch},
            [this] { return planner_.held(); }, [this](const Settler::WriteResult& written) { settled(written); }, log_,
            metrics_),
        claimer_(
            backlog_, planner_, claim_ledger_, signal_, reach_, clock_, {.batch = kBatch, .poll = std::chrono::hours(1)},
            [this] { return open_ ? std::optional(HostId{1}) : std::nullopt; },
            [this](std::vector<Job> jobs) { claimed(std::move(jobs)); }, log_) {
    settler_.start();
    executor_.start([this](std::vector<Finished> finished) { settler_.take(std::move(finished)); });
    claimer_.start();
  }
  ~HotPath() {
    claimer_.stop();
    executor_.stop(Millis(1000));
    settler_.stop(Millis(1000));
  }

  void drain() {
    open_ = true;
    signal_.walk();
    await_settled(kDeliveries);
  }
  std::size_t accepted() const { return ledger_.accepted; }

 private:
  void claimed(std::vector<Job> jobs) {
    claimed_ += jobs.size();
    executor_.execute(std::move(jobs));
    await_settled(claimed_);
  }
  void settled(const Settler::WriteResult& written) {
    release(planner_, claim_ledger_, signal_, written.batch, written.unwritten, clock_.now());
    const std::lock_guard lock(mutex_);
    settled_ += written.batch.size();
    changed_.notify_all();
  }
  void await_settled(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return settled_ >= count; });
  }

  testing::ManualClock clock_;
  testing::KeptLog log_;
  Metrics metrics_;
  Backlog backlog_;
  Ledger ledger_;
  AcceptingSenders senders_;
  std::atomic<bool> open_{false};
  std::size_t claimed_ = 0;  // the claimer's thread's own
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t settled_ = 0;  // guarded by mutex_
  Executor executor_;
  Planner planner_;
  ClaimLedger claim_ledger_;
  WorkSignal signal_;
  Answers answers_;
  HostReach reach_{answers_};
  Settler settler_;
  Claimer claimer_;
};

void drain_1000() {
  HotPath().drain();  // what is done once in a process
  HotPath pipeline;
  counted([&] { pipeline.drain(); });
  require(pipeline.accepted() == kDeliveries, std::to_string(pipeline.accepted()) + " acceptances, and a thousand were meant");
}

constexpr std::array kScenarios{Scenario{"drain_1000", drain_1000}};

}  // namespace

std::span<const Scenario> drain_scenarios() { return kScenarios; }

}  // namespace waybill::guard
