// Upkeep's two threads: one holds on to life, the other looks after what the dead left.
#include "upkeep/upkeep.h"

#include <algorithm>
#include <unordered_set>

#include "core/idempotency.h"
#include "core/job.h"
#include "settle/settlement.h"

namespace waybill {
namespace {
constexpr std::size_t kMostAtOnce = 1000;
constexpr int kChoreShare = 50;  // a chore that takes long is done less often: it may cost two parts in a hundred of the time
// After the database was away every host comes back at its own pace: only who stays away is dead.
constexpr auto kAfterOutage = std::chrono::seconds(3);
}  // namespace

Upkeep::Upkeep(Presence& presence, UpkeepStore& store, QueueStore& queue, SettleStore& settle, std::vector<Chore> chores,
               const Clock& clock, UpkeepSettings settings, std::function<void()> wake, Log& log, Metrics& metrics)
    : presence_(presence),
      store_(store),
      queue_(queue),
      settle_(settle),
      clock_(clock),
      settings_(std::move(settings)),
      wake_(std::move(wake)),
      log_(log),
      metrics_(metrics) {
  for (auto& chore : chores) chores_.push_back({std::move(chore)});
  presence_thread_ = std::jthread([this](std::stop_token stop) { keep_presence(stop); });
  sweep_thread_ = std::jthread([this](std::stop_token stop) { sweep(stop); });
}

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
    if (const auto done = now >= not_before_ ? sweep_once(*self) : Result<void>{}; !done) {
      log_.warn("upkeep.failed", {{"chore", "sweep"}, {"error", done.error().what}});
      not_before_ = now + kAfterOutage;
    }
    do_chores();
  } while (pause(stop, settings_.takeover));
}

Result<void> Upkeep::sweep_once(HostId self) {
  const auto dead = store_.dead_hosts(self);
  if (!dead) return tl::unexpected(dead.error());
  if (settings_.crashes != nullptr && !dead->empty()) settings_.crashes->look();
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
  for (int i = 0; i < settings_.shards; ++i)
    if (const auto forgotten = store_.forget_lost_claims(static_cast<Shard>(i)); !forgotten) return forgotten;
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
      std::vector<const LostClaim*> claims;
      for (const auto& claim : lost->claims) {
        const auto contract = contract_of(claim.route);
        if (contract) {
          settlements.push_back(settlement_of(claim, (*contract)->contract, lost->now, settings_.actor, blame_of(claim)));
          claims.push_back(&claim);
        } else if (contract.error().kind == Error::Kind::unavailable) {
          return tl::unexpected(contract.error());
        } else {  // it stays where it is; the others go on
          log_.error("upkeep.no_contract", {{"delivery", claim.delivery.value}, {"error", contract.error().what}});
        }
      }
      const auto written = write(shard, settlements);
      if (!written) return tl::unexpected(written.error());
      const std::unordered_set<DeliveryId> held(written->begin(), written->end());
      for (std::size_t at = 0; at < claims.size(); ++at)
        if (held.contains(claims[at]->delivery)) tell_lost(*claims[at], settlements[at]);
      all += held.size();
      if (!held.empty()) wake_();
      if (lost->claims.size() < kMostAtOnce || held.empty()) break;
    }
  }
  return all;
}

Result<std::vector<DeliveryId>> Upkeep::write(Shard shard, const std::vector<Settlement>& settlements) {
  if (settlements.empty()) return std::vector<DeliveryId>{};
  auto settled = settle_.settle(shard, settlements);
  if (settled) {
    for (const auto& state : settled->form_states) metrics_.submission(state);
    return std::move(settled->held);
  }
  if (settled.error().kind == Error::Kind::unavailable) return tl::unexpected(settled.error());
  if (settlements.size() == 1) {
    log_.error("upkeep.refused_by_database", {{"delivery", settlements.front().delivery.value}, {"error", settled.error().what}});
    return std::vector<DeliveryId>{};
  }
  std::vector<DeliveryId> all;  // one of them cannot be written: each on its own
  for (const auto& one : settlements) {
    const auto written = write(shard, {one});
    if (!written && all.empty()) return written;
    if (!written) break;  // what was written is told; the rest is found again
    all.insert(all.end(), written->begin(), written->end());
  }
  return all;
}

Blame Upkeep::blame_of(const LostClaim& claim) const {
  return settings_.crashes != nullptr ? settings_.crashes->blame(claim) : Blame::none;
}

void Upkeep::tell_lost(const LostClaim& claim, const Settlement& settlement) {
  if (settings_.crashes != nullptr) settings_.crashes->written(claim, contracts_.at(claim.route).contract.target);
  tell_end(claim, settlement);
}

void Upkeep::tell_end(const LostClaim& claim, const Settlement& settlement) {
  const std::string& target = contracts_.at(claim.route).contract.target;
  if (claim.kind == kAlertKind &&
      !settlement.submission_state.empty()) {  // told in the log and the metrics only: never an alert about an alert
    metrics_.alert_not_delivered();
    log_.error("alert.not_delivered", {{"reference", idempotency_key(claim.org, claim.kind, claim.client_ref, 1)},
                                       {"target", target},
                                       {"state", settlement.submission_state},
                                       {"reason", settlement.reason}});
    return;
  }
  if (!settlement.submission_state.empty()) metrics_.submission(settlement.submission_state);
  if (!settlement.dead_letter) return;
  log_.error("dead_letter",
             {{"delivery", settlement.delivery.value}, {"reason", settlement.reason}, {"hosts_lost", settlement.lease_lost}});
}

void Upkeep::do_chores() {
  for (auto& [chore, due] : chores_) {
    const auto begin = clock_.now();
    if (begin < due) continue;
    const auto done = chore.run();
    const auto end = clock_.now();
    if (done) {
      due = end + std::max<Clock::Monotonic::duration>(chore.every, kChoreShare * (end - begin));
    } else {
      log_.warn("upkeep.failed", {{"chore", chore.name}, {"error", done.error().what}});
      due = end + std::min<Clock::Monotonic::duration>(chore.every, kAfterOutage);
    }
  }
}

Result<const RouteContract*> Upkeep::contract_of(RouteId route) {
  if (const auto known = contracts_.find(route); known != contracts_.end()) return &known->second;
  auto contract = queue_.contract(route);
  if (!contract) return tl::unexpected(contract.error());
  return &contracts_.emplace(route, std::move(*contract)).first->second;
}

}  // namespace waybill
