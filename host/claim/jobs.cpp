// What an attempt needs, put together from the row and its route.
#include "claim/jobs.h"

#include <unordered_map>

#include "domain/idempotency.h"

namespace waybill {

std::vector<Job> jobs_of(ClaimResult claimed, ClaimToken token, const ClaimTimes& times,
                         const std::function<std::shared_ptr<const Contract>(RouteId)>& contract_of,
                         std::span<const RouteShare> shares) {
  std::unordered_map<RouteId, std::optional<Timestamp>> probes;  // since when their targets are in an outage
  for (const auto& share : shares)
    if (share.probe) probes.emplace(share.route, share.outage_since);
  std::vector<Job> jobs;
  jobs.reserve(claimed.rows.size());
  RouteId last{};  // most rows are of the route of the row before
  std::shared_ptr<const Contract> contract;
  for (auto& row : claimed.rows) {
    if (!contract || row.route != last) contract = contract_of(last = row.route);
    auto context = context_of(row.org, row.kind, row.client_ref, *contract, row.created, row.payload);
    auto key = idempotency_key(row.org, row.kind, row.client_ref, row.action_order);
    const auto probe = probes.find(row.route);
    jobs.push_back({.delivery = row.delivery,
                    .submission = row.submission,
                    .org = row.org,
                    .route = row.route,
                    .token = token,
                    .attempt = row.attempt_count + 1,
                    .lease_lost = row.lease_lost,
                    .uncounted = row.uncounted,
                    .maybe_sent_before = row.maybe_sent,
                    .created = row.created,
                    .claimed_at = claimed.now,
                    .claimed_mono = times.answered,
                    .begin_before = times.asked + times.lease,
                    .contract = contract,
                    .channel = std::move(row.channel),
                    .kind = row.kind,
                    .client_ref = std::move(row.client_ref),
                    .action_order = row.action_order,
                    .idempotency_key = std::move(key),
                    .payload = std::move(row.payload),
                    .body_bytes = row.body_bytes,
                    .withheld = row.withheld,
                    .context = std::move(context),
                    .artifact = std::move(row.artifact),
                    .provider_ref = {},
                    .progress = std::move(row.progress),
                    .probe = probe != probes.end(),
                    .outage_since = probe != probes.end() ? probe->second : std::nullopt});
  }
  return jobs;
}

}  // namespace waybill
