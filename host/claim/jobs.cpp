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
    Job job{JobHead{.delivery = row.delivery,
                    .submission = row.submission,
                    .org = row.org,
                    .route = row.route,
                    .token = token,
                    .history = row.history,
                    .created = row.created,
                    .claimed_at = claimed.now,
                    .claimed_mono = times.answered,
                    .begin_before = times.asked + times.lease,
                    .contract = contract,
                    .kind = row.kind,
                    .client_ref = std::move(row.client_ref),
                    .action_order = row.action_order,
                    .idempotency_key = std::move(key),
                    .body_bytes = row.body_bytes,
                    .withheld = row.withheld,
                    .probe = probe != probes.end(),
                    .trace = std::move(row.trace),
                    .terms = std::move(row.terms),
                    .outage_since = probe != probes.end() ? probe->second : std::nullopt}};
    job.channel = std::move(row.channel);
    job.payload = std::move(row.payload);
    job.progress = std::move(row.progress);
    job.context = std::move(context);
    job.artifact = std::move(row.artifact);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace waybill
