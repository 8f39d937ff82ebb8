// Whether newcomers may start, and handing them on once they are stored.
#include "claim/first_claims.h"

#include <algorithm>

#include "claim/jobs.h"

namespace waybill {

FirstClaims::FirstClaims(Window& window, ClaimBook& book, const Clock& clock, FirstClaimSettings settings,
                         std::function<std::optional<HostId>()> host, JobSink sink)
    : window_(window), book_(book), clock_(clock), settings_(settings), host_(std::move(host)), sink_(std::move(sink)) {}

std::optional<FirstClaim> FirstClaims::ask(Shard shard, const std::vector<Newcomers>& all) {
  const auto host = host_();
  if (!host || !may_start(shard, all)) return std::nullopt;
  Asked asked{.at = clock_.now(), .facts = {}, .all = all};
  for (const auto& one : all) {
    if (!window_.can_run(one.contract->action_type)) return std::nullopt;
    asked.facts.try_emplace(one.route, RouteFacts{one.org, one.contract, host_name_of(one.contract->url)});
  }
  std::vector<Window::Wish> wishes;
  for (const auto& one : all) wishes.push_back({one.route, &asked.facts.at(one.route), one.count});

  const std::unique_lock claiming(claiming_, std::try_to_lock);  // the claimer is not waited for: it will see them
  if (!claiming) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (stopped_ || !window_.hold_all(wishes)) return std::nullopt;
  const FirstClaim claim{*host, book_.next(*host), settings_.lease};
  under_way_.emplace(claim.token, std::move(asked));
  return claim;
}

bool FirstClaims::may_start(Shard shard, const std::vector<Newcomers>& all) {
  const std::lock_guard lock(mutex_);
  const auto seen = seen_.find(shard);
  if (stopped_ || seen == seen_.end() || clock_.now() - seen->second.at > settings_.fresh) return false;
  return std::none_of(all.begin(), all.end(), [&](const auto& one) { return seen->second.waiting.contains(one.route); });
}

void FirstClaims::carried_out(Shard shard, const FirstClaim& claim, Claimed claimed) {
  const Asked asked = take(claim.token);
  let_go(asked, claimed.rows);
  book_.opened(shard, claim.token, claimed.rows.size());
  auto jobs = jobs_of(std::move(claimed), claim.token, {asked.at, clock_.now(), claim.lease},
                      [&](RouteId route) -> const RouteFacts& { return asked.facts.at(route); });
  if (!jobs.empty()) sink_(std::move(jobs));
  end(claim.token);
}

void FirstClaims::lost(Shard shard, const FirstClaim& claim) {
  let_go(take(claim.token), {});
  book_.lost({shard, claim.host, claim.token});
  end(claim.token);
}

void FirstClaims::saw(Shard shard, const DueRoutes& due) {
  Seen seen{.at = clock_.now(), .waiting = {}};
  for (const auto& [route, first_due] : due.routes)
    if (first_due <= due.now) seen.waiting.insert(route);
  const std::lock_guard lock(mutex_);
  seen_[shard] = std::move(seen);
}

void FirstClaims::waits(Shard shard, const std::set<RouteId>& routes) {
  const std::lock_guard lock(mutex_);
  seen_[shard].waiting.insert(routes.begin(), routes.end());
}

void FirstClaims::waits_no_more(Shard shard, const std::set<RouteId>& routes) {
  const std::lock_guard lock(mutex_);
  for (const auto route : routes) seen_[shard].waiting.erase(route);
}

void FirstClaims::stop() {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  ended_.wait(lock, [&] { return under_way_.empty(); });
}

// Its place stays until end(), so that stop() waits for it.
FirstClaims::Asked FirstClaims::take(ClaimToken token) {
  const std::lock_guard lock(mutex_);
  return std::move(under_way_.at(token));
}

void FirstClaims::end(ClaimToken token) {
  const std::lock_guard lock(mutex_);
  under_way_.erase(token);
  ended_.notify_all();
}

// What was held for newcomers is free again, but for those that were claimed.
void FirstClaims::let_go(const Asked& asked, const std::vector<ClaimedRow>& but) {
  std::map<RouteId, std::size_t> left;
  for (const auto& one : asked.all) left[one.route] += one.count;
  for (const auto& row : but) --left[row.route];
  for (const auto& [route, count] : left)
    if (count > 0) window_.let_go(route, count);
}

}  // namespace waybill
