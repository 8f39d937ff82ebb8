// The claim's rounds: what is due, what may start, take it, sleep until something changes.
#include "claim/claimer.h"

#include <algorithm>
#include <unordered_set>

#include "claim/jobs.h"
#include "core/decide.h"

namespace waybill {
namespace {

constexpr std::size_t kMostCachedRoutes = 100'000;
constexpr auto kMarkLife = std::chrono::seconds(1);  // how long rows that were committed out of order may be overlooked
// Asking passes over what is claimed, so it takes its time when much is in flight. While all the routes of the last answer have a
// backlog, it is asked again after so long, or so many times what asking took; when something new came in, sooner.
constexpr auto kBacklogLife = std::chrono::milliseconds(50);
constexpr int kBacklogShare = 20, kNewsShare = 10;
constexpr auto kForget = std::chrono::seconds(1);        // how long an idle host keeps what is done with
constexpr auto kGather = std::chrono::milliseconds(10);  // a few freed places are worth waiting for more

}  // namespace

Claimer::Claimer(QueueStore& store, Window& window, ClaimBook& book, FirstClaims& first_claims, const Clock& clock,
                 ClaimerSettings settings, std::function<std::optional<HostId>()> host, JobSink sink, Log& log)
    : store_(store),
      window_(window),
      book_(book),
      first_claims_(first_claims),
      clock_(clock),
      settings_(settings),
      host_(std::move(host)),
      sink_(std::move(sink)),
      log_(log),
      thread_([this](std::stop_token stop) { run(stop); }) {}

Claimer::~Claimer() { stop(); }

void Claimer::wake() {
  std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

void Claimer::wake(Shard shard, const std::set<RouteId>& routes) {
  first_claims_.waits(shard, routes);
  std::lock_guard lock(mutex_);
  news_[shard].insert(routes.begin(), routes.end());
  woken_ = true;
  changed_.notify_all();
}

void Claimer::let_go(const std::vector<Finished>& settled, const std::vector<ClaimToken>& unwritten) {
  std::unordered_map<RouteId, std::size_t> counts;
  for (const auto& one : settled) ++counts[one.job.route];
  for (const auto& [route, count] : counts) window_.let_go(route, count);
  book_.settled(settled, unwritten);
  std::lock_guard lock(mutex_);
  freed_ += settled.size();
  changed_.notify_all();
}

void Claimer::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Claimer::run(std::stop_token stop) {
  int next = 0;  // the shard that a round begins with: behind the last one that was claimed from; hosts differ in it
  while (!stop.stop_requested()) {
    std::chrono::microseconds pause = settings_.poll;
    if (const auto host = host_()) {
      const int first = next;
      for (int i = 0; i < settings_.shards && !stop.stop_requested(); ++i) {
        const auto shard = static_cast<Shard>((first + host->value + i) % settings_.shards);
        const auto claims_before = claims_;
        pause = std::min(pause, round(shard, *host));
        if (claims_ != claims_before) next = (first + i + 1) % settings_.shards;
      }
    }
    if (pause.count() > 0) forget_done();
    sleep(stop, pause);
  }
  // What a lost claim may have taken must not wait for its lease: other hosts are there.
  if (const auto done = give_back_lost(); !done) log_.warn("claim.not_given_back", {{"error", done.error().what}});
}

std::chrono::microseconds Claimer::round(Shard shard, HostId host) {
  if (facts_.size() > kMostCachedRoutes) facts_.clear();
  if (const auto done = give_back_lost(); !done) {
    log_.warn("claim.database_unavailable", {{"error", done.error().what}});
    return settings_.poll;
  }
  const auto asked_at = clock_.now();
  std::chrono::microseconds pause = settings_.poll;
  auto due = due_routes(shard, pause);
  if (!due) {
    log_.warn("claim.database_unavailable", {{"error", due.error().what}});
    return settings_.poll;
  }
  if (asked_at - marks_since_ > kMarkLife) {
    marks_.clear();
    marks_since_ = asked_at;
  }
  const auto demands = demands_of(*due, pause);
  auto claiming = first_claims_.claiming();
  const auto shares = window_.shares(demands, settings_.batch);
  if (shares.empty()) return pause;

  const ClaimToken token = book_.next(host);
  ++claims_;
  const auto done = book_.done(shard);
  auto claimed = store_.claim(shard, host, token, settings_.lease, wanted(shard, demands, shares), done);
  const auto answered_at = clock_.now();
  if (!claimed) {
    book_.lost({shard, host, token});
    log_.warn("claim.database_unavailable", {{"error", claimed.error().what}});
    return settings_.poll;
  }
  for (const auto& row : claimed->rows) window_.hold(row.route, facts_.at(row.route), 1);
  claiming.unlock();
  book_.opened(shard, token, claimed->rows.size(), done.size());
  const bool answer_was_old = backlogs_[shard].claimed;
  const bool any_full = find_backlog(shard, demands, shares, claimed->rows);
  auto jobs = jobs_of(std::move(*claimed), token, {asked_at, answered_at, settings_.lease},
                      [&](RouteId route) -> const RouteFacts& { return facts_.at(route); });
  if (!jobs.empty()) sink_(std::move(jobs));
  return any_full || answer_was_old ? std::chrono::microseconds(0) : pause;  // there is more, or may be elsewhere
}

// What may be claimed now of what is due; `pause` is cut to when more may be.
std::vector<Window::Demand> Claimer::demands_of(const DueRoutes& due, std::chrono::microseconds& pause) {
  std::vector<Window::Demand> demands;
  for (const auto& [route, first_due] : due.routes) {
    const RouteFacts* facts = facts_of(route);
    if (!facts) continue;
    Timestamp from = first_due;
    for (const auto& rest : due.rests)
      if (rest.org == facts->org && rest.target == facts->contract->rest_key()) from = std::max(from, rest.until);
    const bool runs = window_.can_run(facts->contract->action_type);
    if (from <= due.now && runs)
      demands.push_back({route, facts, false});
    else if (is_expired(*facts->contract, first_due, due.now))  // due no earlier than created, so its time is surely over
      demands.push_back({route, facts, true});
    else if (from > due.now)
      pause = std::min(pause, from - due.now + std::chrono::milliseconds(1));
  }
  return demands;
}

std::vector<RouteShare> Claimer::wanted(Shard shard, const std::vector<Window::Demand>& demands, const Shares& shares) const {
  std::unordered_set<RouteId> only_expired;  // these end, whether their target rests or not
  for (const auto& demand : demands)
    if (demand.only_expired) only_expired.insert(demand.route);
  std::vector<RouteShare> wanted;
  for (const auto& [route, count] : shares) {
    RouteShare share{.route = route, .count = count, .after = {}, .after_id = {}};
    if (const auto mark = marks_.find({shard, route}); mark != marks_.end()) {
      share.after = mark->second.due;
      share.after_id = mark->second.delivery;
    }
    if (!only_expired.contains(route)) {
      const RouteFacts& facts = facts_.at(route);
      share.org = facts.org;
      share.unless_rests = facts.contract->rest_key();
    }
    wanted.push_back(std::move(share));
  }
  return wanted;
}

// Whether a route gave all that was wanted of it. Those that gave less have no backlog behind their mark.
bool Claimer::find_backlog(Shard shard, const std::vector<Window::Demand>& demands, const Shares& shares,
                           const std::vector<ClaimedRow>& rows) {
  std::unordered_map<RouteId, std::size_t> taken;
  for (const auto& row : rows) {
    ++taken[row.route];
    marks_[{shard, row.route}] = {row.due, row.delivery};  // rows come in order
  }
  std::unordered_set<RouteId> going_on;
  for (const auto& demand : demands) going_on.insert(demand.route);
  bool any_full = false;
  std::set<RouteId> empty;
  for (const auto& [route, count] : shares) {
    if (taken[route] == count) {
      any_full = true;
      continue;
    }
    empty.insert(route);
    going_on.erase(route);
    marks_.erase({shard, route});
  }
  first_claims_.waits_no_more(shard, empty);
  Backlog& backlog = backlogs_[shard];
  std::erase_if(backlog.due.routes, [&](const DueRoute& one) { return !going_on.contains(one.route); });
  backlog.claimed = true;
  return any_full;
}

// The database's answer, or its last one while the routes in it have more than was claimed of them, or what was told just now;
// these are good for at most `good_for`.
Result<DueRoutes> Claimer::due_routes(Shard shard, std::chrono::microseconds& good_for) {
  std::set<RouteId> news;
  {
    std::lock_guard lock(mutex_);
    news.swap(news_[shard]);
  }
  Backlog& backlog = backlogs_[shard];
  const auto now = clock_.now();
  const auto since_asked = [&] { return std::chrono::duration_cast<Micros>(now - backlog.asked_at); };
  const auto until = news_at_ > backlog.asked_at ? backlog.news_until : backlog.fresh_until;
  if (backlog.claimed && !backlog.due.routes.empty() && now < until) {
    DueRoutes due = backlog.due;
    due.now = due.now + since_asked();
    good_for = std::min(good_for, std::chrono::ceil<std::chrono::microseconds>(until - now));
    return due;
  }
  if (!news.empty() && now - backlog.asked_at < settings_.poll) {  // what began to rest since, the claim passes over
    DueRoutes due{.now = backlog.due.now + since_asked(), .routes = {}, .rests = backlog.due.rests};
    for (const auto route : news) due.routes.push_back({route, due.now});
    good_for = std::chrono::microseconds(0);  // the database is asked next
    return due;
  }
  auto due = store_.due_routes(shard);
  if (!due) return due;
  first_claims_.saw(shard, *due);
  const auto answered = clock_.now();
  const Clock::Monotonic::duration took = answered - now;
  backlog = {.due = *due,
             .asked_at = now,
             .news_until = answered + kNewsShare * took,
             .fresh_until = answered + std::max<Clock::Monotonic::duration>(kBacklogLife, kBacklogShare * took)};
  return due;
}

void Claimer::forget_done() {
  const auto now = clock_.now();
  if (now - forgot_at_ < kForget) return;
  forgot_at_ = now;
  for (const auto& [shard, done] : book_.take_done())
    if (!done.empty() && !store_.forget(shard, done)) book_.put_back_done(shard, done);
}

Result<void> Claimer::give_back_lost() {
  while (const auto lost = book_.any_lost()) {
    if (const auto done = store_.give_back(lost->shard, lost->host, lost->token); !done) return done;
    book_.given_back(lost->token);
  }
  return {};
}

const RouteFacts* Claimer::facts_of(RouteId route) {
  if (const auto known = facts_.find(route); known != facts_.end()) return &known->second;
  auto contract = store_.contract(route);
  if (!contract) {
    log_.error("claim.no_contract", {{"route", route.value}, {"error", contract.error().what}});
    return nullptr;
  }
  RouteFacts facts{contract->org, std::make_shared<const Contract>(std::move(contract->contract)), {}};
  facts.host_name = host_name_of(facts.contract->url);
  return &facts_.emplace(route, std::move(facts)).first->second;
}

void Claimer::sleep(std::stop_token stop, std::chrono::microseconds most) {
  std::unique_lock lock(mutex_);
  const std::size_t enough = std::max<std::size_t>(1, std::min(settings_.batch, window_.held() + freed_) / 4);
  if (!woken_ && freed_ == 0) changed_.wait_for(lock, stop, most, [&] { return woken_ || freed_ > 0; });
  if (!woken_ && freed_ > 0 && freed_ < enough)
    changed_.wait_for(lock, stop, kGather, [&] { return woken_ || freed_ >= enough; });
  if (woken_) news_at_ = clock_.now();
  woken_ = false;
  freed_ = 0;
}

}  // namespace waybill
