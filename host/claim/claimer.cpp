// The rounds of the claimer's thread.
#include "claim/claimer.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "claim/jobs.h"

namespace waybill {
namespace {

constexpr int kLookShare = 20;                           // a look may take one part in so many of the time
constexpr auto kForget = std::chrono::seconds(1);        // how long an idle host keeps claims that are done
constexpr auto kGather = std::chrono::milliseconds(10);  // a few freed places are worth waiting for more
constexpr auto kSkip = std::chrono::seconds(60);         // for a route whose contract cannot be read
constexpr auto kProbeDenied = std::chrono::seconds(1);   // another host's probe is under way

}  // namespace

Claimer::Claimer(QueueStore& store, Planner& planner, ClaimLedger& ledger, const Clock& clock, ClaimerSettings settings,
                 std::function<std::optional<HostId>()> host, JobSink sink, Log& log)
    : store_(store),
      planner_(planner),
      ledger_(ledger),
      clock_(clock),
      settings_(settings),
      host_(std::move(host)),
      sink_(std::move(sink)),
      log_(log),
      thread_([this](std::stop_token stop) { run(stop); }) {}

Claimer::~Claimer() { stop(); }

void Claimer::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = walk_now_ = true;
  changed_.notify_all();
}

void Claimer::wake(Shard shard, const std::vector<Newcomers>& routes) {
  planner_.wake(shard, routes, clock_.now());
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

void Claimer::release(const std::vector<Finished>& settled, const std::vector<ClaimToken>& unwritten) {
  const auto now = clock_.now();
  struct Places {
    std::size_t count = 0, bytes = 0;
    bool due_again = false, recovered = false;
  };
  std::map<std::pair<Shard, RouteId>, Places> all;
  for (const auto& one : settled) {
    Places& places = all[{shard_of(one.job.delivery), one.job.route}];
    ++places.count;
    places.bytes += one.job.withheld ? 0 : one.job.body_bytes;
    places.due_again |= one.how == Finished::How::composed || one.how == Finished::How::unattempted;
    places.recovered |= one.job.probe && one.outcome && one.outcome->scope != Scope::whole_target;
  }
  for (const auto& [key, places] : all) {
    planner_.release(key.first, key.second, places.count, places.bytes);
    if (places.due_again) planner_.wake(key.first, key.second, now);
    if (places.recovered) planner_.recovered(key.first, key.second, now);
  }
  ledger_.settled(settled, unwritten);
  const std::lock_guard lock(mutex_);
  freed_ += settled.size();
  changed_.notify_all();
}

void Claimer::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Claimer::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    again_ = false;
    Clock::Monotonic::duration most = settings_.poll;
    if (const auto host = host_()) {
      const auto done = round(*host);
      if (!done) log_.warn("claim.database_unavailable", {{"error", done.error().what}});
      if (done && again_) continue;
      if (done) most = until_next_look();
    }
    forget_done();
    sleep(stop, most);
  }
  // What an unconfirmed claim may have taken must not wait for its lease: other hosts are there.
  if (const auto done = confirm(); !done) log_.warn("claim.not_given_back", {{"error", done.error().what}});
}

Result<void> Claimer::round(HostId host) {
  if (auto done = confirm(); !done) return done;
  if (auto done = look(); !done) return done;
  auto plan = planner_.plan(settings_.batch, clock_.now());
  Result<void> failed;
  for (auto& [shard, shares] : plan.shares) {
    auto done = failed ? begin_probes(host, shard, shares) : failed;
    if (done) done = take_permits(shard, shares);
    if (done) done = claim(host, shard, shares, plan.bytes);
    if (done) continue;
    for (const auto& share : shares) planner_.claimed(shard, share, {}, clock_.now());
    failed = std::move(done);
  }
  if (!failed) return failed;
  return learn(plan.unknown);
}

// A claim whose answer was lost is undone before anything else is claimed.
Result<void> Claimer::confirm() {
  while (const auto claim = ledger_.any_unconfirmed()) {
    if (auto done = store_.give_back(claim->shard, claim->host, claim->token); !done) return done;
    ledger_.given_back(claim->token);
    for (auto& [shard, walk] : walks_) walk.due = {};
  }
  return {};
}

void Claimer::Look::done(Clock::Monotonic begun, Clock::Monotonic ended, Millis poll) {
  due = ended + std::max<Clock::Monotonic::duration>(poll, kLookShare * (ended - begun));
}

Result<void> Claimer::look() {
  bool walk_now = false;
  {
    const std::lock_guard lock(mutex_);
    walk_now = std::exchange(walk_now_, false);
  }
  if (const auto begun = clock_.now(); walk_now || begun >= cooldowns_.due) {
    const auto cooldowns = store_.cooldowns();
    if (!cooldowns) return tl::unexpected(cooldowns.error());
    cooldowns_.done(begun, clock_.now(), settings_.poll);
    planner_.observe(*cooldowns, clock_.now());
  }
  for (int i = 0; i < settings_.shards; ++i) {
    const auto shard = static_cast<Shard>(i);
    Look& walk = walks_[shard];
    const auto begun = clock_.now();
    if (!walk_now && begun < walk.due) continue;
    const auto mark = planner_.mark();
    const auto due = store_.due_routes(shard);
    if (!due) return tl::unexpected(due.error());
    const auto ended = clock_.now();
    walk.done(begun, ended, settings_.poll);
    planner_.observe(shard, *due, mark, ended, walk.due + settings_.poll + (ended - begun));
  }
  return {};
}

Result<void> Claimer::learn(const std::vector<RouteId>& routes) {
  if (routes.empty()) return {};
  auto contracts = store_.contracts(routes);
  const auto now = clock_.now();
  if (!contracts) {  // they are asked for again
    for (const auto route : routes) planner_.skip(route, now + settings_.poll);
    return tl::unexpected(contracts.error());
  }
  again_ = true;
  for (const auto route : routes) {
    const auto found = contracts->find(route);
    if (found != contracts->end()) {
      planner_.learn(route, facts_of(found->second.org, std::make_shared<const Contract>(std::move(found->second.contract))),
                     now);
    } else {
      log_.error("claim.no_contract", {{"route", route.value}});
      planner_.skip(route, now + kSkip);
    }
  }
  return {};
}

// Of the targets that are half-open, those that this host probes stay among the shares.
Result<void> Claimer::begin_probes(HostId host, Shard shard, std::vector<RouteShare>& shares) {
  std::vector<Rest> wanted;
  for (const auto& share : shares)
    if (share.probe) wanted.push_back({share.org, share.rest_key, {}, {}});
  if (wanted.empty()) return {};
  const auto begun = store_.begin_probes(wanted, host, settings_.probe);
  if (!begun) return tl::unexpected(begun.error());
  std::set<std::pair<OrgId, std::string>> ours;
  for (const auto& one : *begun) ours.emplace(one.org, one.target);
  std::erase_if(shares, [&](const RouteShare& share) {
    if (!share.probe || ours.contains({share.org, share.rest_key})) return false;
    planner_.denied(shard, share, clock_.now() + kProbeDenied);
    return true;
  });
  return {};
}

// Of targets with a rate, as much as may start now stays among the shares.
Result<void> Claimer::take_permits(Shard shard, std::vector<RouteShare>& shares) {
  Result<void> failed;
  std::erase_if(shares, [&](RouteShare& share) {
    if (!share.rate || !failed) return false;
    const auto permits = store_.take_permits(share.org, share.target, *share.rate, share.count);
    if (!permits) {
      failed = tl::unexpected(permits.error());
      return false;
    }
    if (permits->granted > 0) {
      planner_.trim(shard, share, permits->granted);
      return false;
    }
    planner_.denied(shard, share, clock_.now() + permits->wait);
    return true;
  });
  return failed;
}

Result<void> Claimer::claim(HostId host, Shard shard, const std::vector<RouteShare>& shares, std::size_t& bytes) {
  if (shares.empty()) return {};
  const ClaimToken token = ledger_.next(host);
  const auto done = ledger_.done(shard);
  const auto asked_at = clock_.now();
  auto claimed = store_.claim(shard, host, token, settings_.lease, shares, done, bytes);
  const auto now = clock_.now();
  if (!claimed) {
    ledger_.unconfirmed({shard, host, token});
    return tl::unexpected(claimed.error());
  }
  ledger_.opened(shard, token, claimed->rows.size(), done.size());
  std::unordered_map<RouteId, std::vector<const ClaimedRow*>> rows_of;
  std::map<RouteId, std::optional<Timestamp>> probes;
  for (const auto& row : claimed->rows) {
    rows_of[row.route].push_back(&row);
    bytes -= std::min(bytes, row.payload.size());
  }
  for (const auto& share : shares) {
    planner_.claimed(shard, share, rows_of[share.route], now);
    if (share.probe) probes.emplace(share.route, share.outage_since);
  }
  again_ = true;
  auto jobs = jobs_of(std::move(*claimed), token, {asked_at, now, settings_.lease},
                      [&](RouteId route) -> const RouteFacts& { return planner_.facts(shard, route); });
  for (auto& job : jobs) {
    const auto probe = probes.find(job.route);
    job.probe = probe != probes.end();
    if (job.probe) job.outage_since = probe->second;
  }
  if (!jobs.empty()) sink_(std::move(jobs));
  return {};
}

void Claimer::forget_done() {
  const auto now = clock_.now();
  if (now - forgot_at_ < kForget) return;
  forgot_at_ = now;
  for (const auto& [shard, done] : ledger_.take_done())
    if (!done.empty() && !store_.forget(shard, done)) ledger_.put_back_done(shard, done);
}

// Something may fall due before it.
Clock::Monotonic::duration Claimer::until_next_look() const {
  const auto now = clock_.now();
  auto until = std::min({now + settings_.poll, cooldowns_.due, planner_.next_due()});
  for (const auto& [shard, walk] : walks_) until = std::min(until, walk.due);
  return std::max<Clock::Monotonic::duration>(until - now, std::chrono::milliseconds(1));
}

// Until somebody wakes it or enough places are free.
void Claimer::sleep(std::stop_token stop, Clock::Monotonic::duration most) {
  std::unique_lock lock(mutex_);
  const std::size_t enough = std::max<std::size_t>(1, std::min(settings_.batch, planner_.held() + freed_) / 4);
  if (!woken_ && freed_ == 0) changed_.wait_for(lock, stop, most, [&] { return woken_ || freed_ > 0; });
  if (!woken_ && freed_ > 0 && freed_ < enough)
    changed_.wait_for(lock, stop, kGather, [&] { return woken_ || freed_ >= enough; });
  woken_ = false;
  freed_ = 0;
}

}  // namespace waybill
