// The rounds of the claimer's thread.
//
// A round begins with the claims whose answers were lost: they are given back. Then, if it is time, it looks at the outages and
// walks over each shard's queue, and tells the planner what is due. The planner answers with a plan: of which routes to take how
// much, and which routes it does not know yet. For each shard the round leaves out channels of organisations that another host
// serves, targets that another host probes, and what exceeds a target's rate; where it cannot be told which these are, such as
// for a lock, it leaves out all that would have to be asked for, and nothing else. One statement claims what is left; it also
// forgets claims that are done. The planner is told what came, and the rows go on as jobs. The failure of a shard's claim ends
// the round: what was planned is due again a moment later. At last the contracts of unknown routes are read, for the next round.
// If something was claimed or learnt, the next round begins at once; if not, when the thread is woken, a place falls free, or
// something falls due. Where only a few places have fallen free it waits a moment for more.
#include "claim/claimer.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "claim/jobs.h"
#include "domain/channel.h"

namespace waybill {
namespace {

constexpr int kLookShare = 20;                              // a look may take one part in so many of the time
constexpr auto kForget = std::chrono::seconds(1);           // how long an idle host keeps claims that are done
constexpr auto kGather = std::chrono::milliseconds(10);     // a few freed places are worth waiting for more
constexpr auto kSkip = std::chrono::seconds(60);            // for a route whose contract cannot be read
constexpr auto kWeights = std::chrono::milliseconds(1000);  // between two looks at the weights of organisations
constexpr auto kServedElsewhere = std::chrono::seconds(1);  // until an organisation's channels are asked for again
constexpr auto kChannelsIdle = std::chrono::seconds(1);     // then another host may serve them
constexpr auto kOthersServe = std::chrono::seconds(10);     // what this host alone finds unreachable is tried by others
constexpr auto kProbeDenied = std::chrono::seconds(1);      // another host's probe is under way

}  // namespace

Claimer::Claimer(QueueStore& store, Planner& planner, ClaimLedger& ledger, WorkSignal& signal, HostReach& reach,
                 const Clock& clock, ClaimerSettings settings, std::function<std::optional<HostId>()> host, JobSink sink,
                 Log& log)
    : store_(store),
      planner_(planner),
      ledger_(ledger),
      signal_(signal),
      reach_(reach),
      clock_(clock),
      settings_(settings),
      host_(std::move(host)),
      sink_(std::move(sink)),
      log_(log),
      looked_at_(clock.now().time_since_epoch().count()) {}

Claimer::~Claimer() { stop(); }

void Claimer::start() {
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

void Claimer::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Claimer::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    pulse_.beat();
    again_ = false;
    Clock::Monotonic::duration most = settings_.poll;
    if (const auto host = host_()) {
      const auto done = round(*host);
      if (!done) log_.warn("claim.database_unavailable", {{"error", done.error().what}});
      if (done) most = again_ ? Clock::Monotonic::duration{} : until_next_round();
    } else {  // others work meanwhile, and wait neither for its channels nor for a lease
      return_unconfirmed();
      leave_channels(channels_.host, {});
    }
    if (!again_) forget_done();
    pulse_.rest();
    signal_.wait(stop, most, kGather, settings_.batch, planner_.held());
  }
  // What an unconfirmed claim may have taken must not wait for its lease: other hosts are there.
  return_unconfirmed();
  leave_channels(channels_.host, {});  // nor idle channels for this host's end
}

void Claimer::return_unconfirmed() {
  if (const auto done = give_back_unconfirmed(); !done) log_.warn("claim.not_given_back", {{"error", done.error().what}});
}

Result<void> Claimer::round(HostId host) {
  TRY(give_back_unconfirmed());
  TRY(look(host));
  looked_at_ = clock_.now().time_since_epoch().count();
  if (reach_.is_cut_off()) return {};
  auto plan = planner_.plan(settings_.batch, clock_.now());
  Result<void> done;
  for (auto& [shard, shares] : plan.shares) {
    pulse_.beat();  // of many shards that are slow none is stuck
    const auto begun = clock_.now();
    if (done) serve_channels(host, shard, shares);
    if (done) begin_probes(host, shard, shares);
    if (done) take_permits(shard, shares);
    if (done) done = claim(host, shard, shares, begun, plan.bytes);
    if (done) continue;
    for (const auto& share : shares) planner_.denied(shard, share, clock_.now() + settings_.poll);
  }
  if (clock_.now() - channels_.left_at >= kChannelsIdle) leave_channels(host, kChannelsIdle);
  release_idle_probes(host);
  if (!done) return done;
  return learn(plan.unknown);
}

// A claim whose answer was lost is undone before anything else is claimed.
Result<void> Claimer::give_back_unconfirmed() {
  while (const auto claim = ledger_.any_unconfirmed()) {
    pulse_.beat();
    TRY(store_.give_back(claim->shard, claim->host, claim->token));
    ledger_.given_back(claim->token);
    for (auto& [shard, walk] : walks_) walk.due = {};
  }
  return {};
}

void Claimer::Look::done(Clock::Monotonic begun, Clock::Monotonic ended, Millis poll) {
  const auto length = ended - begun;
  due = ended + std::max<Clock::Monotonic::duration>(poll, kLookShare * std::min(length, std::exchange(last, length)));
}

// What other hosts find unreachable, and this one had answers from, is told on the way.
Result<void> Claimer::look_at_cooldowns(HostId host) {
  const auto begun = clock_.now();
  if (const auto refuted = reach_.take_refuted(); !refuted.empty())
    if (const auto told = store_.refute(refuted, host); !told)  // the next answer says it again
      log_.warn("claim.findings_not_refuted", {{"error", told.error().what}});
  const auto cooldowns = store_.cooldowns(host);
  TRY(cooldowns);
  cooldowns_.done(begun, clock_.now(), settings_.poll);
  reach_.observe(*cooldowns);
  planner_.observe(*cooldowns, clock_.now());
  hand_over_channels(cooldowns->own);
  return {};
}

Result<void> Claimer::look(HostId host) {
  const bool walk_now = signal_.take_walk();
  if (walk_now || clock_.now() >= cooldowns_.due) TRY(look_at_cooldowns(host));
  if (const auto begun = clock_.now(); begun >= weights_.due) {
    auto weights = store_.weights();
    weights_.done(begun, clock_.now(), kWeights);
    if (weights) planner_.observe(std::move(*weights));  // else they stay as they were
    if (auto rates = store_.ordered_rates())
      planner_.observe(std::move(*rates), clock_.now());
    else
      log_.warn("claim.rates_not_read", {{"error", rates.error().what}, {"effect", "operators' rates stay as they were"}});
  }
  for (int i = 0; i < settings_.shards; ++i) {
    const auto shard = static_cast<Shard>(i);
    Look& walk = walks_[shard];
    const auto begun = clock_.now();
    if (!walk_now && begun < walk.due) continue;
    const auto revision = planner_.revision();
    const auto due = store_.due_routes(shard);
    TRY(due);
    const auto ended = clock_.now();
    walk.done(begun, ended, settings_.poll);
    planner_.observe(shard, *due, revision, ended, walk.due + settings_.poll + (ended - begun));
  }
  return {};
}

Result<void> Claimer::learn(const std::vector<RouteId>& routes) {
  if (routes.empty()) return {};
  const auto contracts = store_.contracts(routes);
  TRY(contracts);
  again_ = true;
  for (const auto route : routes) {
    if (const auto found = contracts->find(route); found != contracts->end()) {
      planner_.learn(route, found->second.contract);
    } else {
      log_.error("claim.no_contract", {{"route", route.value}});
      planner_.skip(route, clock_.now() + kSkip);
    }
  }
  return {};
}

// Of channels, those of organisations that this host serves stay among the shares. The limits of an organisation's channels are
// this host's own, and hold for all hosts because one serves them at a time. A failure here holds up channels only, not intents.
void Claimer::serve_channels(HostId host, Shard shard, std::vector<RouteShare>& shares) {
  if (std::none_of(shares.begin(), shares.end(), [](const auto& share) { return !share.channel.empty(); })) return;
  std::vector<const RouteShare*> wanted;
  for (const auto& share : shares)
    if (!share.channel.empty() && !is_handed_over(share.org)) wanted.push_back(&share);
  const auto served = wanted.empty() ? std::vector<ServedChannel>{} : store_.serve_channels(host, wanted, settings_.lease);
  std::unordered_map<RouteId, std::optional<Rate>> rates;
  if (served)
    for (const auto& one : *served) rates.emplace(one.route, one.rate);
  const auto now = clock_.now();
  if (channels_.host != host) channels_ = {.host = host, .used = {}, .left_at = now};
  if (!served) {
    log_.warn("claim.channels_unavailable", {{"error", served.error().what}});
    for (const auto* share : wanted) channels_.used[share->org] = now;  // they may be this host's: only the answer is missing
  }
  std::vector<RouteShare> kept;
  for (auto& share : shares) {
    if (!share.channel.empty()) {
      const auto rate = rates.find(share.route);
      if (rate == rates.end()) {
        planner_.denied(shard, share, now + kServedElsewhere);
        again_ = true;
        continue;
      }
      if (!share.rate) share.rate = rate->second;  // an operator's goes before
      channels_.used[share.org] = now;
    }
    kept.push_back(std::move(share));
  }
  shares = std::move(kept);
}

// What has been idle for a while may be another host's. What cannot be told now is told later.
void Claimer::leave_channels(HostId host, Clock::Monotonic::duration idle_for) {
  const auto now = clock_.now();
  if (channels_.host != host) return;
  channels_.left_at = now;
  std::vector<OrgId> idle;
  for (auto& [org, used] : channels_.used) {
    if (planner_.held_of_channels(org) > 0)
      used = now;
    else if (now - used >= idle_for || is_handed_over(org))
      idle.push_back(org);
  }
  if (idle.empty() || !store_.leave_channels(host, idle)) return;
  for (const auto org : idle) {
    channels_.used.erase(org);
    if (is_handed_over(org)) channels_.not_before[org] = now + kOthersServe;
  }
}

// No other host sends to a channel that this one serves, so none would confirm that it is unreachable, or have an answer from it.
// Where this host has connected to nothing since, it leaves the organisation to others for a while, once for each such
// finding.
void Claimer::hand_over_channels(const std::vector<HostFinding>& own) {
  const auto now = clock_.now();
  std::erase_if(channels_.not_before, [&](const auto& one) { return one.second <= now; });
  std::map<std::pair<OrgId, std::string>, Timestamp> unreached;
  for (const auto& one : own) {
    if (!is_channel_target(one.target) || !reach_.cannot_connect(one.org, one.target)) continue;
    const auto known = channels_.unreached.find({one.org, one.target});
    const bool is_new = known == channels_.unreached.end() || known->second != one.since;
    if (is_new) {
      const bool is_to_be_left = channels_.used.contains(one.org);  // which takes as long as something is under way
      channels_.not_before[one.org] = now + (is_to_be_left ? Clock::Monotonic::duration(settings_.lease) : kOthersServe);
      log_.info("claim.channels_handed_over", {{"organisation", one.org.value}, {"unreachable", one.target}});
    }
    unreached.emplace(std::pair(one.org, one.target), one.since);
  }
  channels_.unreached = std::move(unreached);
}

bool Claimer::is_handed_over(OrgId org) const {
  const auto found = channels_.not_before.find(org);
  return found != channels_.not_before.end() && clock_.now() < found->second;
}

// Of the targets that are half-open, those that this host probes stay among the shares.
void Claimer::begin_probes(HostId host, Shard shard, std::vector<RouteShare>& shares) {
  std::vector<Cooldown> wanted;
  for (const auto& share : shares)
    if (share.probe) wanted.push_back({share.org, share.cooldown_key, {}, {}});
  if (wanted.empty()) return;
  const auto begun = store_.begin_probes(wanted, host, settings_.probe);
  std::set<std::pair<OrgId, std::string>> ours;
  if (begun)
    for (const auto& one : *begun) ours.emplace(one.org, one.target);
  else
    log_.warn("claim.probes_unavailable", {{"error", begun.error().what}});
  std::vector<RouteShare> kept;
  for (auto& share : shares) {
    if (!share.probe || ours.contains({share.org, share.cooldown_key}))
      kept.push_back(std::move(share));
    else
      planner_.denied(shard, share, clock_.now() + kProbeDenied);
  }
  again_ |= kept.size() < shares.size();
  shares = std::move(kept);
}

// What is not given back now ends with its time.
void Claimer::release_idle_probes(HostId host) {
  const auto idle = std::exchange(idle_probes_, {});
  if (idle.empty()) return;
  if (const auto done = store_.release_probes(idle, host); !done)
    log_.warn("claim.probes_unavailable", {{"error", done.error().what}});
}

// Of targets with a rate, as much as may start now stays among the shares. A failure here holds up what has a rate, nothing else.
void Claimer::take_permits(Shard shard, std::vector<RouteShare>& shares) {
  std::vector<const RouteShare*> rated;
  for (const auto& share : shares)
    if (share.rate) rated.push_back(&share);
  if (rated.empty()) return;
  const auto permits = store_.take_permits(rated);
  if (!permits) log_.warn("claim.permits_unavailable", {{"error", permits.error().what}});
  std::vector<RouteShare> kept;
  for (std::size_t answered = 0; auto& share : shares) {
    if (share.rate) {
      const auto [granted, wait] = permits ? permits->at(answered++) : Permits{0, settings_.poll};
      if (granted == 0) {
        planner_.denied(shard, share, clock_.now() + wait);
        again_ = true;
        if (share.probe) idle_probes_.push_back({share.org, share.cooldown_key, {}, {}});
        continue;
      }
      planner_.trim(shard, share, granted);
    }
    kept.push_back(std::move(share));
  }
  shares = std::move(kept);
}

// `asked_at`: before what may be sent was asked for. A host that was stopped since then starts nothing past its lease.
Result<void> Claimer::claim(HostId host, Shard shard, const std::vector<RouteShare>& shares, Clock::Monotonic asked_at,
                            std::size_t& bytes) {
  if (shares.empty()) return {};
  const ClaimToken token = ledger_.next(host);
  const auto done = ledger_.take_done(shard);
  auto claimed = store_.claim(shard, host, token, settings_.lease, shares, done, bytes);
  const auto now = clock_.now();
  if (!claimed) {
    ledger_.put_back_done(shard, done);
    ledger_.unconfirmed({shard, host, token});
    return tl::unexpected(claimed.error());
  }
  ledger_.deleted(shard, done);
  ledger_.opened(shard, token, claimed->rows.size());
  std::unordered_map<RouteId, std::vector<const ClaimedRow*>> rows_of;
  for (const auto& row : claimed->rows) {
    rows_of[row.route].push_back(&row);
    bytes -= std::min(bytes, bytes_of(row));
  }
  for (const auto& share : shares) {
    planner_.claimed(shard, share, rows_of[share.route], now);
    if (share.probe && rows_of[share.route].empty()) idle_probes_.push_back({share.org, share.cooldown_key, {}, {}});
  }
  again_ = true;
  auto jobs = jobs_of(
      std::move(*claimed), token, {asked_at, now, settings_.lease}, [&](RouteId route) { return planner_.contract(route); },
      shares);
  if (!jobs.empty()) sink_(std::move(jobs));
  return {};
}

void Claimer::forget_done() {
  const auto now = clock_.now();
  if (now - forgot_at_ < kForget) return;
  forgot_at_ = now;
  for (int i = 0; i < settings_.shards; ++i) {
    const auto shard = static_cast<Shard>(i);
    const auto done = ledger_.take_done(shard);
    if (done.empty()) continue;
    if (store_.forget(shard, done))
      ledger_.deleted(shard, done);
    else
      ledger_.put_back_done(shard, done);
  }
}

Clock::Monotonic::duration Claimer::until_next_round() const {
  const auto now = clock_.now();
  auto until = std::min({now + settings_.poll, cooldowns_.due, planner_.next_due()});
  for (const auto& [shard, walk] : walks_) until = std::min(until, walk.due);
  return std::max<Clock::Monotonic::duration>(until - now, std::chrono::milliseconds(1));
}

}  // namespace waybill
