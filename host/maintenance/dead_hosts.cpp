// Which hosts are dead, and which claims nobody renews any more: each look is compared with the one before.
#include "maintenance/dead_hosts.h"

#include <algorithm>

namespace waybill {

std::vector<HostObservation> HostWatch::dead(Clock::Monotonic asked, Clock::Monotonic answered,
                                             const std::vector<HostObservation>& seen) {
  std::vector<HostObservation> dead;
  std::map<HostId, MissingHost> missing;
  for (const auto& host : seen) {
    if (host.lives) continue;
    const auto before = missing_.find(host.id);
    const bool same = before != missing_.end() && before->second.version == host.version;
    missing.emplace(host.id, same ? before->second : MissingHost{host.version, answered});
    if (same && asked - before->second.since >= between_) dead.push_back(host);
  }
  missing_ = std::move(missing);
  return dead;
}

std::vector<UnchangedClaim> ClaimWatch::overdue(Clock::Monotonic now, const std::vector<ClaimObservation>& seen) {
  const Micros passed = std::min<Micros>(std::chrono::duration_cast<Micros>(now - last_), 2 * every_);
  last_ = now;
  std::vector<UnchangedClaim> overdue;
  std::map<std::pair<Shard, ClaimToken>, Same> same;
  for (const auto& claim : seen) {
    const std::pair key(claim.shard, claim.token);
    const auto before = same_.find(key);
    const bool unchanged = before != same_.end() && before->second.lease_until == claim.lease_until;
    const Micros length = unchanged ? before->second.length + passed : Micros{0};
    same.emplace(key, Same{claim.lease_until, length});
    if (claim.orphaned)
      overdue.push_back({claim, Micros::max()});
    else if (length >= lease_)
      overdue.push_back({claim, length});
  }
  same_ = std::move(same);
  return overdue;
}

}  // namespace waybill
