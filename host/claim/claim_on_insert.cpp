// Places are taken before deliveries are stored, and what was stored is handed on.
#include "claim/claim_on_insert.h"

#include <unordered_map>

#include "claim/jobs.h"

namespace waybill {

ClaimOnInsert::ClaimOnInsert(Planner& planner, ClaimLedger& ledger, const Clock& clock, Millis lease,
                             std::function<std::optional<HostId>()> host, JobSink sink)
    : planner_(planner), ledger_(ledger), clock_(clock), lease_(lease), host_(std::move(host)), sink_(std::move(sink)) {}

std::optional<InsertClaim> ClaimOnInsert::ask(Shard shard, const std::vector<InsertGroup>& all) {
  const auto host = host_();
  const auto now = clock_.now();
  if (!host) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (stopped_ || !planner_.admit(shard, all, now)) return std::nullopt;
  ++under_way_;
  return InsertClaim{*host, ledger_.next(*host), lease_, now};
}

void ClaimOnInsert::carried_out(Shard shard, const InsertClaim& claim, std::vector<InsertGroup> all, ClaimResult claimed) {
  std::unordered_map<RouteId, InsertGroup*> not_stored;
  for (auto& one : all) not_stored.emplace(one.route, &one);
  for (const auto& row : claimed.rows) {
    --not_stored.at(row.route)->count;
    not_stored.at(row.route)->bytes -= bytes_of(row);
  }
  planner_.give_back(shard, all);
  ledger_.opened(shard, claim.token, claimed.rows.size());
  auto jobs = jobs_of(std::move(claimed), claim.token, {claim.asked_at, clock_.now(), claim.lease},
                      [&](RouteId route) { return planner_.contract(route); });
  for (auto& job : jobs) job.claimed_on_insert = true;
  if (!jobs.empty()) sink_(std::move(jobs));
  end();
}

void ClaimOnInsert::unconfirmed(Shard shard, const InsertClaim& claim, const std::vector<InsertGroup>& all) {
  planner_.give_back(shard, all);
  ledger_.unconfirmed({shard, claim.host, claim.token});
  end();
}

void ClaimOnInsert::stop() {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  ended_.wait(lock, [&] { return under_way_ == 0; });
}

void ClaimOnInsert::end() {
  const std::lock_guard lock(mutex_);
  --under_way_;
  ended_.notify_all();
}

}  // namespace waybill
