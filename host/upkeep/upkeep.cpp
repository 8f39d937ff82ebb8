// Upkeep's two threads: one holds on to life, the other looks after what the dead left.
#include "upkeep/upkeep.h"

#include <algorithm>
#include <unordered_set>

#include "settle/settlement.h"

namespace waybill {
namespace {
constexpr std::size_t kMostAtOnce = 1000;
constexpr auto kNumbersEvery = std::chrono::seconds(5);
constexpr auto kPartitionsEvery = std::chrono::hours(1);
// After the database was away every host comes back at its own pace: only who stays away is dead.
constexpr auto kAfterOutage = std::chrono::seconds(3);
}  // namespace

Upkeep::Upkeep(Presence& presence, UpkeepStore& store, QueueStore& queue, SettleStore& settle, const Clock& clock,
               UpkeepSettings settings, std::function<void()> wake, Log& log, Metrics& metrics)
    : presence_(presence),
      store_(store),
      queue_(queue),
      settle_(settle),
      clock_(clock),
      settings_(std::move(settings)),
      wake_(std::move(wake)),
      log_(log),
      metrics_(metrics),
      presence_thread_([this](std::stop_token stop) { keep_presence(stop); }),
      sweep_thread_([this](std::stop_token stop) { sweep(stop); }) {}

Upkeep::~Upkeep() { stop(); }

void Upkeep::stop() {
  for (std::jthread* thread : {&sweep_thread_, &presence_thread_}) {
    thread->request_stop();
    if (thread->joinable()) thread->join();
  }
}

std::optional<HostId> Upkeep::host() const {
  const std::int64_t id = host_.load();
  return id == 0 ? std::nullopt : std::optional(HostId{id});
}

bool Upkeep::pause(std::stop_token stop, Millis length) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, length, [] { return false; });
  return !stop.stop_requested();
}

void Upkeep::keep_presence(std::stop_token stop) {
  do {
    const auto id = presence_.keep();
    const std::int64_t before = host_.exchange(id ? id->value : 0);
    metrics_.database_up(id.has_value());
    if (!id && before != 0) log_.error("database.lost", {{"error", id.error().what}});
    if (id && before != id->value) {
      log_.info("host.present", {{"host", id->value}, {"name", settings_.actor}});
      wake_();
    }
  } while (pause(stop, settings_.takeover));
  presence_.leave();
  host_ = 0;
}

void Upkeep::sweep(std::stop_token stop) {
  do {
    const auto self = host();
    const auto now = clock_.now();
    if (!self) {
      if (was_up_) not_before_ = now + kAfterOutage;
      continue;
    }
    was_up_ = true;
    auto done = now >= not_before_ ? sweep_once(*self) : Result<void>{};
    if (done) done = housekeeping();
    if (!done) {
      log_.warn("upkeep.failed", {{"error", done.error().what}});
      not_before_ = now + kAfterOutage;
    }
  } while (pause(stop, settings_.takeover));
}

Result<void> Upkeep::sweep_once(HostId self) {
  const auto dead = store_.dead_hosts(self);
  if (!dead) return tl::unexpected(dead.error());
  for (const HostId host : *dead) {
    const auto count = take_back(host);
    if (!count) return tl::unexpected(count.error());
    if (const auto buried = store_.bury(host); !buried) return buried;
    log_.warn("host.died", {{"host", host.value}, {"claims_taken_back", *count}});
    metrics_.claim_lost("host_died", *count);
  }
  const auto count = take_back(std::nullopt);
  if (!count) return tl::unexpected(count.error());
  if (*count > 0) {
    log_.warn("lease.expired", {{"claims_taken_back", *count}});
    metrics_.claim_lost("lease_expired", *count);
  }
  return {};
}

Result<std::size_t> Upkeep::take_back(std::optional<HostId> dead) {
  std::size_t all = 0;
  for (int i = 0; i < settings_.shards; ++i) {
    const auto shard = static_cast<Shard>(i);
    for (;;) {
      const auto lost = store_.lost_claims(shard, dead, kMostAtOnce);
      if (!lost) return tl::unexpected(lost.error());
      std::vector<Settlement> settlements;
      for (const auto& claim : lost->claims) {
        const auto contract = contract_of(claim.route);
        if (contract)
          settlements.push_back(settlement_of(claim, (*contract)->contract, lost->now, settings_.actor));
        else if (contract.error().kind == Error::Kind::unavailable)
          return tl::unexpected(contract.error());
        else  // it stays where it is; the others go on
          log_.error("upkeep.no_contract", {{"delivery", claim.delivery.value}, {"error", contract.error().what}});
      }
      const auto written = write(shard, settlements);
      if (!written) return tl::unexpected(written.error());
      all += *written;
      if (*written > 0) wake_();
      if (lost->claims.size() < kMostAtOnce || *written == 0) break;
    }
  }
  return all;
}

Result<std::size_t> Upkeep::write(Shard shard, const std::vector<Settlement>& settlements) {
  if (settlements.empty()) return 0;
  const auto held = settle_.settle(shard, settlements);
  if (!held && held.error().kind == Error::Kind::unavailable) return tl::unexpected(held.error());
  if (!held && settlements.size() == 1) {
    log_.error("upkeep.refused_by_database", {{"delivery", settlements.front().delivery.value}, {"error", held.error().what}});
    return 0;
  }
  if (!held) {  // one of them cannot be written: each on its own
    std::size_t all = 0;
    for (const auto& one : settlements) {
      const auto written = write(shard, {one});
      if (!written) return written;
      all += *written;
    }
    return all;
  }
  const std::unordered_set<DeliveryId> written(held->held.begin(), held->held.end());
  for (const auto& state : held->form_states) metrics_.submission(state);
  for (const auto& settlement : settlements) {
    if (!written.contains(settlement.delivery) || settlement.submission_state.empty()) continue;
    metrics_.submission(settlement.submission_state);
    if (settlement.reason == "worker_lost")
      log_.error("dead_letter",
                 {{"delivery", settlement.delivery.value}, {"reason", settlement.reason}, {"hosts_lost", settlement.lease_lost}});
  }
  return written.size();
}

Result<void> Upkeep::housekeeping() {
  const auto now = clock_.now();
  if (now >= numbers_at_) {
    const auto state = store_.queue_state();
    if (!state) return tl::unexpected(state.error());
    // Counting a long queue takes long: it may cost two parts in a hundred of the time, not more.
    const auto ready = clock_.now();
    numbers_at_ = ready + std::max<Clock::Monotonic::duration>(kNumbersEvery, 50 * (ready - now));
    for (const auto status : {Status::waiting, Status::open, Status::due, Status::claimed}) {
      const auto count = state->by_status.find(std::string(to_string(status)));
      metrics_.queue_depth(to_string(status), count == state->by_status.end() ? 0 : count->second);
    }
    metrics_.oldest_due_age(state->oldest_due ? std::chrono::duration<double>(*state->oldest_due).count() : 0.0);
  }
  if (now < partitions_at_) return {};
  partitions_at_ = now + kPartitionsEvery;
  return store_.make_partitions();
}

Result<const RouteContract*> Upkeep::contract_of(RouteId route) {
  if (const auto known = contracts_.find(route); known != contracts_.end()) return &known->second;
  auto contract = queue_.contract(route);
  if (!contract) return tl::unexpected(contract.error());
  return &contracts_.emplace(route, std::move(*contract)).first->second;
}

}  // namespace waybill
