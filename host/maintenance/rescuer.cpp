// The rescuer's looks: which hosts died, which claims were left alone.
#include "maintenance/rescuer.h"

#include <algorithm>
#include <unordered_set>

#include "domain/idempotency.h"
#include "domain/job.h"
#include "settle/delivery_spans.h"
#include "settle/objective_end.h"
#include "settle/settlement.h"

namespace waybill {
namespace {
constexpr std::size_t kMaxAtOnce = 1000;
constexpr Millis kBetweenLooks{500};  // a host without its lock at two looks so far apart, and not in between, is dead
constexpr int kClaimLooksInALease = 8;
// After the database was away every host comes back at its own pace: only who stays away is dead.
constexpr auto kAfterOutage = std::chrono::seconds(3);
constexpr auto kAfterDeath = std::chrono::seconds(1);  // a dead host's last claim may commit after its death
}  // namespace

Rescuer::Rescuer(RescueStore& store, QueueStore& queue, SettleStore& settle, const Clock& clock, MaintenanceSettings settings,
                 std::function<std::optional<HostId>()> self, std::function<void()> wake, Log& log, Metrics& metrics)
    : store_(store),
      queue_(queue),
      settle_(settle),
      writer_(settle, log, metrics),
      clock_(clock),
      settings_(std::move(settings)),
      self_(std::move(self)),
      wake_(std::move(wake)),
      log_(log),
      metrics_(metrics),
      hosts_(kBetweenLooks),
      claims_(settings_.lease, settings_.lease / kClaimLooksInALease) {}

void Rescuer::start() {
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

void Rescuer::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Rescuer::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    look();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, settings_.takeover, [] { return false; });
  }
}

void Rescuer::look() {
  const auto self = self_();
  const auto now = clock_.now();
  if (!self) {
    if (was_up_) not_before_ = now + kAfterOutage;
    hosts_.forget();
    return;
  }
  was_up_ = true;
  if (now < not_before_) return;
  auto done = look_at_hosts(*self);
  if (done && (everywhere_.exchange(false) || clock_.now() >= claims_due_)) done = look_at_claims();
  if (done) return;
  log_.warn("rescue.failed", {{"error", done.error().what}});
  hosts_.forget();
  not_before_ = clock_.now() + kAfterOutage;
}

Result<void> Rescuer::look_at_hosts(HostId self) {
  const auto asked = clock_.now();
  const auto seen = store_.hosts(self);
  TRY(seen);
  for (const auto& host : hosts_.dead(asked, clock_.now(), *seen)) {
    const auto taken = store_.take_over(host);
    TRY(taken);
    if (!*taken) continue;  // it is back, or somebody else rescues it
    auto done = rescue(host);
    if (done) continue;
    static_cast<void>(store_.unlock(host.id));  // if it fails the session is gone, and the lock with it
    return done;
  }
  return {};
}

Result<void> Rescuer::rescue(const HostObservation& host) {
  if (settings_.crashes != nullptr) settings_.crashes->look();
  std::size_t count = 0;
  for (int i = 0; i < settings_.shards; ++i) {
    const auto shard = static_cast<Shard>(i);
    const auto taken = take_back(shard, [&](Shard of) { return store_.orphaned_claims(of, host.id, kMaxAtOnce); });
    TRY(taken);
    count += *taken;
    TRY(store_.forget_claims(shard, host.id));
  }
  TRY(store_.unregister(host.id));
  log_.warn("host.died", {{"host", host.id.value}, {"claims_taken_back", count}});
  metrics_.claim_lost("host_died", count);
  claims_due_ = std::min<Clock::Monotonic>(claims_due_, clock_.now() + kAfterDeath);
  return {};
}

Result<void> Rescuer::look_at_claims() {
  const auto seen = store_.claims();
  TRY(seen);
  const auto now = clock_.now();
  claims_due_ = now + settings_.lease / kClaimLooksInALease;
  std::map<Shard, std::vector<UnchangedClaim>> overdue;
  for (const auto& claim : claims_.overdue(now, *seen)) overdue[claim.claim.shard].push_back(claim);
  std::size_t count = 0;
  for (const auto& [shard, claims] : overdue) {
    const auto taken =
        take_back(shard, [this, &held = claims](Shard of) { return store_.orphaned_claims(of, held, kMaxAtOnce); });
    TRY(taken);
    count += *taken;
    TRY(store_.forget_claims(shard, claims));
  }
  if (count == 0) return {};
  log_.warn("lease.expired", {{"claims_taken_back", count}});
  metrics_.claim_lost("lease_expired", count);
  return {};
}

Result<std::size_t> Rescuer::take_back(Shard shard, const FindOrphanedClaims& find) {
  for (std::size_t all = 0;;) {
    const auto lost = find(shard);
    TRY(lost);
    const auto locked = locked_of(shard, lost->claims);
    TRY(locked);
    std::vector<Settlement> settlements;
    std::vector<const OrphanedDelivery*> claims;
    for (const auto& claim : lost->claims) {
      if (locked->contains(claim.delivery)) continue;
      const auto contract = contract_of(claim.route);
      if (contract) {
        settlements.push_back(settlement_of(claim, (*contract)->contract, lost->now, settings_.actor, blame_of(claim)));
        claims.push_back(&claim);
      } else if (contract.error().kind == Error::Kind::unavailable) {
        return tl::unexpected(contract.error());
      } else {  // it stays where it is; the others go on
        log_.error("rescue.no_contract", {{"delivery", claim.delivery.value}, {"error", contract.error().what}});
      }
    }
    const auto written = write(shard, settlements, claims);
    TRY(written);
    const std::unordered_set<DeliveryId> held(written->begin(), written->end());
    for (std::size_t at = 0; at < claims.size(); ++at)
      if (held.contains(claims[at]->delivery)) report_lost(*claims[at], settlements[at], lost->now);
    all += held.size();
    if (!held.empty()) wake_();
    if (lost->claims.size() < kMaxAtOnce || held.empty()) return all;
  }
}

// What somebody holds locked stays claimed, and is found by the looks at all claims: nothing else waits for it.
Result<std::unordered_set<DeliveryId>> Rescuer::locked_of(Shard shard, std::span<const OrphanedDelivery> claims) {
  std::vector<DeliveryId> deliveries;
  for (const auto& claim : claims) deliveries.push_back(claim.delivery);
  if (deliveries.empty()) return std::unordered_set<DeliveryId>{};
  const auto locked = settle_.locked(shard, deliveries);
  TRY(locked);
  if (!locked->empty())
    log_.warn("rescue.locked", {{"deliveries", locked->size()}, {"remedy", "end the transaction that holds their rows locked"}});
  return std::unordered_set<DeliveryId>(locked->begin(), locked->end());
}

Result<std::vector<DeliveryId>> Rescuer::write(Shard shard, std::vector<Settlement>& settlements,
                                               const std::vector<const OrphanedDelivery*>& claims) {
  std::vector<DeliveryId> held;
  const auto written = writer_.settle(
      shard, settlements,
      {.written = [&](std::size_t, std::size_t,
                      const SettleResult& result) { held.insert(held.end(), result.held.begin(), result.held.end()); },
       .refused = [](std::size_t) {},
       .about =
           [&](std::size_t at) {
             return SettlementWriter::About{claims[at]->client_ref, {}};
           }});
  if (!written && held.empty()) return tl::unexpected(written.error());
  return held;  // what was not written is found again
}

Blame Rescuer::blame_of(const OrphanedDelivery& claim) const {
  return settings_.crashes != nullptr ? settings_.crashes->blame(claim) : Blame::none;
}

void Rescuer::report_lost(const OrphanedDelivery& claim, const Settlement& settlement, Timestamp taken_back) {
  if (settings_.tracer != nullptr)
    record_spans(*settings_.tracer, claim, contracts_.at(claim.route).contract, settlement, taken_back);
  if (settings_.crashes != nullptr) settings_.crashes->written(claim, contracts_.at(claim.route).contract.target);
  report_end(claim, settlement);
}

void Rescuer::report_end(const OrphanedDelivery& claim, const Settlement& settlement) {
  const Contract& contract = contracts_.at(claim.route).contract;
  const std::string& target = contract.target;
  ObjectiveRun run(metrics_.objective(), settings_.objective);
  run.add(claim.org, contract, settlement.status, settlement.ended - claim.created);
  run.flush();
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
  log_.error(
      "dead_letter.created",
      {{"delivery", settlement.delivery.value}, {"reason", settlement.reason}, {"hosts_lost", settlement.history.lease_lost}});
}

Result<const RouteContract*> Rescuer::contract_of(RouteId route) {
  if (const auto known = contracts_.find(route); known != contracts_.end()) return &known->second;
  auto contract = queue_.contract(route);
  TRY(contract);
  return &contracts_.emplace(route, std::move(*contract)).first->second;
}

}  // namespace waybill
