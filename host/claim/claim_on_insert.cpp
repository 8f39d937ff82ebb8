// Places are taken before newcomers are stored, and what was stored is handed on.
#include "claim/claim_on_insert.h"

#include <map>

#include "claim/jobs.h"

namespace waybill {

ClaimOnInsert::ClaimOnInsert(Planner& planner, ClaimLedger& ledger, const Clock& clock, Millis lease,
                             std::function<std::optional<HostId>()> host, JobSink sink)
    : planner_(planner), ledger_(ledger), clock_(clock), lease_(lease), host_(std::move(host)), sink_(std::move(sink)) {}

std::optional<FirstClaim> ClaimOnInsert::ask(Shard shard, const std::vector<Newcomers>& all) {
  const auto host = host_();
  const auto now = clock_.now();
  if (!host) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (stopped_ || !planner_.admit(shard, all, now)) return std::nullopt;
  const FirstClaim claim{*host, ledger_.next(*host), lease_};
  under_way_.emplace(claim.token, Asked{now, all});
  return claim;
}

void ClaimOnInsert::carried_out(Shard shard, const FirstClaim& claim, Claimed claimed) {
  const Asked asked = take(claim.token);
  release(shard, asked, claimed.rows);
  ledger_.opened(shard, claim.token, claimed.rows.size());
  auto jobs = jobs_of(std::move(claimed), claim.token, {asked.at, clock_.now(), claim.lease},
                      [&](RouteId route) -> const RouteFacts& { return planner_.facts(shard, route); });
  if (!jobs.empty()) sink_(std::move(jobs));
  end(claim.token);
}

void ClaimOnInsert::unconfirmed(Shard shard, const FirstClaim& claim) {
  release(shard, take(claim.token), {});
  ledger_.unconfirmed({shard, claim.host, claim.token});
  end(claim.token);
}

void ClaimOnInsert::stop() {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  ended_.wait(lock, [&] { return under_way_.empty(); });
}

// Its entry stays until end(), so that stop() waits for it.
ClaimOnInsert::Asked ClaimOnInsert::take(ClaimToken token) {
  const std::lock_guard lock(mutex_);
  return std::move(under_way_.at(token));
}

void ClaimOnInsert::end(ClaimToken token) {
  const std::lock_guard lock(mutex_);
  under_way_.erase(token);
  ended_.notify_all();
}

// The places of newcomers that were not claimed.
void ClaimOnInsert::release(Shard shard, const Asked& asked, const std::vector<ClaimedRow>& but) {
  std::map<RouteId, std::pair<std::size_t, std::size_t>> left;  // deliveries, bytes
  for (const auto& one : asked.all) {
    left[one.route].first += one.count;
    left[one.route].second += one.bytes;
  }
  for (const auto& row : but) {
    auto& [count, bytes] = left[row.route];
    --count;
    bytes -= row.body_bytes;
  }
  for (const auto& [route, places] : left)
    if (places.first > 0) planner_.release(shard, route, places.first, places.second);
}

}  // namespace waybill
