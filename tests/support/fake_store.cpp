// The rules of the stores, in memory.
#include "support/fake_store.h"

#include <algorithm>

namespace waybill::testing {
namespace {

class Session final : public IntakeStore {
 public:
  explicit Session(FakeStore& world) : world_(world) {}
  Result<RouteId> route(OrgId org, const Contract& contract) override { return world_.route(org, contract); }
  Result<std::vector<SubmitResult>> submit(Shard shard, std::span<const NewSubmission> items,
                                           const std::optional<InsertClaim>& claim) override {
    return world_.submit(shard, items, claim);
  }

 private:
  FakeStore& world_;
};

tl::unexpected<Error> away() { return fail(Error::Kind::unavailable, "the fake database is away"); }
tl::unexpected<Error> lock_timeout() { return fail(Error::Kind::unavailable, "canceling statement due to lock timeout [55P03]"); }
tl::unexpected<Error> broken(const std::string& why) { return fail(Error::Kind::bug, why); }

}  // namespace

std::unique_ptr<IntakeStore> FakeStore::intake() { return std::make_unique<Session>(*this); }

RouteId FakeStore::add_route(OrgId org, Contract contract) {
  const std::lock_guard lock(mutex_);
  const RouteId id{static_cast<std::int64_t>(routes_.size()) + 1};
  routes_.emplace(id, RouteContract{org, std::move(contract)});
  return id;
}

DeliveryId FakeStore::add(RouteId route, const std::string& client_ref, Micros due_in) {
  const std::lock_guard lock(mutex_);
  const OrgId org = routes_.at(route).org;
  return make(shard_for(org, client_ref, shards_), org, "intent", client_ref, route, now_ + due_in).row.delivery;
}

void FakeStore::pass(Micros length) {
  const std::lock_guard lock(mutex_);
  now_ = now_ + length;
}

void FakeStore::go_away() {
  const std::lock_guard lock(mutex_);
  away_ = true;
}

void FakeStore::come_back() {
  const std::lock_guard lock(mutex_);
  away_ = false;
}

void FakeStore::lock_outages() {
  const std::lock_guard lock(mutex_);
  outages_locked_ = true;
}

void FakeStore::lock_outage(const std::string& target) {
  const std::lock_guard lock(mutex_);
  locked_outages_.insert(target);
}

void FakeStore::fail_once(const std::string& name) {
  const std::lock_guard lock(mutex_);
  failing_.insert(name);
}

void FakeStore::during_walk(std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  during_walk_ = std::move(hook);
}

void FakeStore::lose_answers(int count) {
  const std::lock_guard lock(mutex_);
  answers_to_lose_ = count;
}

void FakeStore::poison(const std::string& client_ref) {
  const std::lock_guard lock(mutex_);
  poison_.insert(client_ref);
}

void FakeStore::lock(const std::string& client_ref) {
  const std::lock_guard lock(mutex_);
  locked_.insert(client_ref);
}

void FakeStore::unlock_rows() {
  const std::lock_guard lock(mutex_);
  locked_.clear();
}

void FakeStore::poison_route(const std::string& target) {
  const std::lock_guard lock(mutex_);
  poison_routes_.insert(target);
}

void FakeStore::block_submit() {
  const std::lock_guard lock(mutex_);
  held_ = true;
}

void FakeStore::unblock_submit() {
  const std::lock_guard lock(mutex_);
  held_ = false;
  changed_.notify_all();
}

Timestamp FakeStore::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

FakeStore::Delivery FakeStore::delivery(DeliveryId id) const {
  const std::lock_guard lock(mutex_);
  return deliveries_.at(id);
}

std::vector<FakeStore::Delivery> FakeStore::deliveries() const {
  const std::lock_guard lock(mutex_);
  std::vector<Delivery> all;
  for (const auto& [id, delivery] : deliveries_) all.push_back(delivery);
  return all;
}

std::vector<Cooldown> FakeStore::cooling() const {
  const std::lock_guard lock(mutex_);
  std::vector<Cooldown> all;
  for (const auto& [key, rest] : cooldowns_) all.push_back(rest);
  return all;
}

std::vector<FailedAttempts> FakeStore::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

void FakeStore::end_rest(OrgId org, const std::string& target) {
  const std::lock_guard lock(mutex_);
  cooldowns_.erase({org.value, target});
}

void FakeStore::permit(std::size_t count) {
  const std::lock_guard lock(mutex_);
  permits_ = count;
}

void FakeStore::serve_elsewhere(OrgId org) {
  const std::lock_guard lock(mutex_);
  served_elsewhere_.insert(org);
}

void FakeStore::set_rate(std::optional<Rate> rate) {
  const std::lock_guard lock(mutex_);
  rate_ = rate;
}

std::set<OrgId> FakeStore::served() const {
  const std::lock_guard lock(mutex_);
  return served_;
}

Result<OrgWeights> FakeStore::weights() { return OrgWeights{}; }

Result<std::vector<ServedChannel>> FakeStore::serve_channels(HostId, std::span<const RouteShare* const> shares, Millis) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("serve_channels"); !there) return tl::unexpected(there.error());
  std::vector<ServedChannel> served;
  for (const auto* share : shares) {
    if (served_elsewhere_.contains(share->org)) continue;
    served_.insert(share->org);
    served.push_back({share->route, rate_});
  }
  return served;
}

Result<void> FakeStore::leave_channels(HostId, std::span<const OrgId> orgs) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("leave_channels"); !there) return tl::unexpected(there.error());
  for (const auto org : orgs) served_.erase(org);
  return {};
}

Result<std::vector<Permits>> FakeStore::take_permits(std::span<const RouteShare* const> shares) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("take_permits"); !there) return tl::unexpected(there.error());
  std::vector<Permits> all;
  for (const auto* share : shares) {
    const std::size_t granted = std::min(share->count, permits_);
    permits_ -= granted;
    all.push_back({granted, Seconds(1)});
  }
  return all;
}

void FakeStore::finds_alone(HostFinding finding) {
  const std::lock_guard lock(mutex_);
  findings_.push_back(std::move(finding));
}

void FakeStore::have_others() {
  const std::lock_guard lock(mutex_);
  others_ = true;
}

void FakeStore::fail_probes(bool denied) {
  const std::lock_guard lock(mutex_);
  probes_denied_ = denied;
}

void FakeStore::hide(RouteId route) {
  const std::lock_guard lock(mutex_);
  hidden_.insert(route);
}

std::vector<std::string> FakeStore::order_of_calls() const {
  const std::lock_guard lock(mutex_);
  return order_of_calls_;
}

std::set<ClaimToken> FakeStore::claims() const {
  const std::lock_guard lock(mutex_);
  return claims_;
}

std::size_t FakeStore::count(Status status) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(deliveries_.begin(), deliveries_.end(), [&](const auto& d) { return d.second.status == status; }));
}

std::size_t FakeStore::calls(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto at = calls_.find(name);
  return at == calls_.end() ? 0 : at->second;
}

std::vector<std::size_t> FakeStore::batches(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto at = batches_.find(name);
  return at == batches_.end() ? std::vector<std::size_t>{} : at->second;
}

FakeStore::Delivery& FakeStore::make(Shard shard, OrgId org, const std::string& kind, const std::string& client_ref,
                                     RouteId route, Timestamp due) {
  const SubmissionId submission{++last_id_ << kShardBits | shard};
  const DeliveryId delivery{submission.value};
  Delivery& made = deliveries_[delivery];
  made.row = {.delivery = delivery,
              .submission = submission,
              .org = org,
              .route = route,
              .due = due,
              .action_order = 1,
              .created = now_,
              .kind = kind,
              .client_ref = client_ref,
              .payload = {}};
  made.target = routes_.at(route).contract.target;
  by_key_[{org.value, kind, client_ref}] = delivery;
  return made;
}

SubmissionView FakeStore::view_of(const Delivery& d) {
  return {.id = d.row.submission,
          .org = d.row.org,
          .client_ref = d.row.client_ref,
          .target = d.target,
          .state = d.state,
          .reason = d.reason,
          .created = d.row.created,
          .completed = is_end(d.status) ? std::optional(d.settled.back().ended) : std::nullopt};
}

Result<void> FakeStore::begin(const std::string& name) {
  ++calls_[name];
  order_of_calls_.push_back(name);
  if (away_ || failing_.erase(name) > 0) return away();
  return {};
}

bool FakeStore::answer_is_lost() {
  if (answers_to_lose_ == 0) return false;
  --answers_to_lose_;
  return true;
}

Result<RouteId> FakeStore::route(OrgId org, const Contract& contract) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("route"); !there) return tl::unexpected(there.error());
  if (poison_routes_.contains(contract.target)) return broken("this contract cannot be stored");
  for (const auto& [id, known] : routes_)
    if (known.org == org && known.contract == contract) return id;
  const RouteId id{static_cast<std::int64_t>(routes_.size()) + 1};
  routes_.emplace(id, RouteContract{org, contract});
  return id;
}

Result<std::vector<SubmitResult>> FakeStore::submit(Shard shard, std::span<const NewSubmission> items,
                                                    const std::optional<InsertClaim>& claim) {
  std::unique_lock lock(mutex_);
  auto there = begin("submit");
  changed_.wait(lock, [&] { return !held_; });
  if (!there) return tl::unexpected(there.error());
  std::set<Key> keys;
  for (const auto& item : items) {
    if (shard_for(item.org, item.client_ref, shards_) != shard) return broken("the wrong shard");
    if (!keys.emplace(item.org.value, item.kind, item.client_ref).second) return broken("two items share a key");
    if (!routes_.contains(item.route)) return broken("no such route");
    if (poison_.contains(item.client_ref)) return broken("this submission cannot be stored");
  }
  const bool claims = claim && std::none_of(items.begin(), items.end(), [&](const auto& item) {
                        const auto rest = cooldowns_.find({item.org.value, item.cooldown_key});
                        return rest != cooldowns_.end();
                      });
  std::vector<SubmitResult> answers;
  for (const auto& item : items) {
    const auto known = by_key_.find({item.org.value, item.kind, item.client_ref});
    if (known == by_key_.end()) {
      Delivery& made = make(shard, item.org, item.kind, item.client_ref, item.route, now_);
      made.row.payload = item.payload;
      made.payload_hash = item.payload_hash;
      answers.push_back({SubmitResult::How::created, view_of(made), claims, now_});
      if (claims) {
        made.status = Status::claimed;
        made.token = claim->token;
        made.host = claim->host;
        claims_.insert(claim->token);
      }
      continue;
    }
    const Delivery& stored = deliveries_.at(known->second);
    const bool same = stored.target == item.target && stored.payload_hash == item.payload_hash;
    answers.push_back({same ? SubmitResult::How::existing : SubmitResult::How::conflict, view_of(stored)});
  }
  batches_["submit"].push_back(items.size());
  if (answer_is_lost()) return away();
  return answers;
}

Result<DueRoutes> FakeStore::due_routes(Shard shard) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("due_routes"); !there) return tl::unexpected(there.error());
  during_walk_();
  std::map<RouteId, Timestamp> first;
  for (const auto& [id, d] : deliveries_) {
    if (shard_of(id) != shard || d.status != Status::due || hidden_.contains(d.row.route)) continue;
    const auto [at, fresh] = first.emplace(d.row.route, d.row.due);
    if (!fresh) at->second = std::min(at->second, d.row.due);
  }
  DueRoutes due{.now = now_, .routes = {}};
  for (const auto& [route, when] : first) due.routes.push_back({route, routes_.at(route).org, when});
  return due;
}

Result<void> FakeStore::refute(std::span<const HostFinding>, HostId) {
  const std::lock_guard lock(mutex_);
  return begin("refute");
}

Result<Cooldowns> FakeStore::cooldowns(HostId) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("cooldowns"); !there) return tl::unexpected(there.error());
  Cooldowns all{.now = now_, .all = {}, .own = findings_};
  for (const auto& [key, rest] : cooldowns_) all.all.push_back(rest);
  return all;
}

Result<std::vector<Cooldown>> FakeStore::begin_probes(std::span<const Cooldown> targets, HostId, Millis) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("begin_probes"); !there) return tl::unexpected(there.error());
  std::vector<Cooldown> begun;
  for (const auto& target : targets) {
    const auto rest = cooldowns_.find({target.org.value, target.target});
    if (!probes_denied_ && rest != cooldowns_.end() && rest->second.until <= now_) begun.push_back(rest->second);
  }
  return begun;
}

Result<void> FakeStore::release_probes(std::span<const Cooldown>, HostId) {
  const std::lock_guard lock(mutex_);
  return begin("release_probes");
}

Result<ClaimResult> FakeStore::claim(Shard shard, HostId host, ClaimToken token, Millis, std::span<const RouteShare> shares,
                                     const DoneClaims& done, std::size_t most_bytes) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("claim"); !there) return tl::unexpected(there.error());
  ClaimResult claimed{.now = now_, .rows = {}};
  std::size_t bytes = 0;
  for (const auto& share : shares) {
    if (cooldowns_.contains({share.org.value, share.cooldown_key}) && !share.probe) continue;
    std::vector<Delivery*> takable;
    for (auto& [id, d] : deliveries_)
      if (shard_of(id) == shard && d.status == Status::due && d.row.route == share.route && d.row.due <= now_ &&
          !locked_.contains(d.row.client_ref) && (!share.min_age || d.row.created + *share.min_age <= now_) &&
          std::tie(d.row.due, d.row.delivery) > std::tie(share.after, share.after_id))
        takable.push_back(&d);
    std::sort(takable.begin(), takable.end(), [](const auto* a, const auto* b) {
      return std::tie(a->row.due, a->row.delivery) < std::tie(b->row.due, b->row.delivery);
    });
    takable.resize(std::min(takable.size(), share.count));
    for (Delivery* d : takable) {
      d->status = Status::claimed;
      d->token = token;
      d->host = host;
      claimed.rows.push_back(d->row);
      ClaimedRow& row = claimed.rows.back();
      row.body_bytes = row.payload.size();
      bytes += row.body_bytes;
      row.withheld = bytes > most_bytes && claimed.rows.size() > 1;
      if (row.withheld) row.payload.clear();
    }
  }
  std::sort(claimed.rows.begin(), claimed.rows.end(),
            [](const auto& a, const auto& b) { return std::tie(a.due, a.delivery) < std::tie(b.due, b.delivery); });
  batches_["claim"].push_back(claimed.rows.size());
  for (const auto one : done) claims_.erase(one);
  if (!claimed.rows.empty()) claims_.insert(token);
  if (answer_is_lost()) return away();
  return claimed;
}

Result<void> FakeStore::forget(Shard, const DoneClaims& done) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("forget"); !there) return there;
  for (const auto one : done) claims_.erase(one);
  return {};
}

Result<void> FakeStore::give_back(Shard shard, HostId host, ClaimToken token) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("give_back"); !there) return there;
  for (auto& [id, d] : deliveries_) {
    if (shard_of(id) != shard || d.status != Status::claimed || d.host != host || d.token != token) continue;
    d.status = Status::due;
    d.token = {};
  }
  return {};
}

Result<RouteContract> FakeStore::contract(RouteId route) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("contract"); !there) return tl::unexpected(there.error());
  const auto known = routes_.find(route);
  if (known == routes_.end() || poison_routes_.contains(known->second.contract.target)) return broken("no contract");
  return known->second;
}

Result<std::map<RouteId, RouteContract>> FakeStore::contracts(std::span<const RouteId> routes) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("contracts"); !there) return tl::unexpected(there.error());
  std::map<RouteId, RouteContract> all;
  for (const auto route : routes)
    if (const auto known = routes_.find(route); known != routes_.end() && !poison_routes_.contains(known->second.contract.target))
      all.insert(*known);
  return all;
}

Result<SettleResult> FakeStore::settle(Shard shard, std::span<const Settlement> batch) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("settle"); !there) return tl::unexpected(there.error());
  for (const auto& s : batch) {
    const auto at = deliveries_.find(s.delivery);
    if (shard_of(s.delivery) != shard || at == deliveries_.end()) return broken("no such delivery in this shard");
    if (poison_.contains(at->second.row.client_ref)) return broken("this settlement cannot be written");
    if (!allowed(Status::claimed, s.status)) return broken("not a move of a claimed delivery");
    if (locked_.contains(at->second.row.client_ref)) return lock_timeout();
  }
  SettleResult settled;
  for (const auto& s : batch) {
    Delivery& d = deliveries_.at(s.delivery);
    if (d.status != Status::claimed || d.token != s.token) continue;
    d.status = s.status;
    d.row.due = s.status == Status::due ? s.due : d.row.due;
    d.row.history = s.history;
    if (!s.progress.empty()) d.row.progress = s.progress;
    d.token = {};
    if (!s.submission_state.empty()) d.state = s.submission_state;
    d.reason = s.reason;
    d.settled.push_back(s);
    settled.held.push_back(s.delivery);
    settled.tokens.push_back(s.token);
  }
  batches_["settle"].push_back(batch.size());
  if (answer_is_lost()) return away();
  return settled;
}

Result<std::vector<DeliveryId>> FakeStore::save_artifacts(Shard shard, std::span<const ComposeRow> batch) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("keep"); !there) return tl::unexpected(there.error());
  for (const auto& one : batch) {
    const auto at = deliveries_.find(one.delivery);
    if (shard_of(one.delivery) != shard || at == deliveries_.end()) return broken("no such delivery in this shard");
    if (poison_.contains(at->second.row.client_ref)) return broken("this artefact cannot be written");
    if (locked_.contains(at->second.row.client_ref)) return lock_timeout();
  }
  std::vector<DeliveryId> held;
  for (const auto& one : batch) {
    Delivery& d = deliveries_.at(one.delivery);
    if (d.status != Status::claimed || d.token != one.token) continue;
    d.status = Status::due;
    d.token = {};
    d.row.artifact = one.artifact;
    held.push_back(one.delivery);
  }
  batches_["keep"].push_back(batch.size());
  if (answer_is_lost()) return away();
  return held;
}

Result<std::vector<DeliveryId>> FakeStore::locked(Shard, std::span<const DeliveryId> deliveries) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("locked"); !there) return tl::unexpected(there.error());
  std::vector<DeliveryId> all;
  for (const auto id : deliveries)
    if (locked_.contains(deliveries_.at(id).row.client_ref)) all.push_back(id);
  return all;
}

Result<void> FakeStore::cool_down(std::span<const Cooldown> cooldowns) {
  const std::lock_guard lock(mutex_);
  for (const auto& cooldown : cooldowns) cooldowns_[{cooldown.org.value, cooldown.target}] = cooldown;
  return {};
}

Result<std::vector<Cooldown>> FakeStore::blame(std::span<const BlamedTarget> blames, Millis most) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("blame"); !there) return tl::unexpected(there.error());
  if (outages_locked_) return lock_timeout();
  std::map<std::pair<std::int64_t, std::string>, Cooldown> now;
  for (const auto& blame : blames) {
    if (locked_outages_.contains(blame.target)) continue;
    const std::pair key(blame.org.value, blame.target);
    Cooldown& cooldown =
        cooldowns_.try_emplace(key, Cooldown{blame.org, blame.target, blame.at, blame.reason, blame.at}).first->second;
    cooldown.since = std::min(cooldown.since, blame.at);
    const Millis grown = std::chrono::duration_cast<Millis>(blame.at - cooldown.since) / kCooldownShare;
    const Millis own = std::min(std::max(grown, kMinCooldown), most);
    cooldown.until = std::max(cooldown.until, blame.at + std::max(own, blame.asked));
    cooldown.reason = blame.reason;
    cooldown.of_this_host = others_ && !blame.is_answered;
    now[key] = cooldown;
  }
  batches_["blame"].push_back(blames.size());
  if (answer_is_lost()) return away();
  std::vector<Cooldown> all;
  for (const auto& [key, cooldown] : now) all.push_back(cooldown);
  return all;
}

Result<std::vector<Cooldown>> FakeStore::clear(std::span<const ClearedCooldown> cleared) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("clear"); !there) return tl::unexpected(there.error());
  if (outages_locked_) return lock_timeout();
  std::vector<Cooldown> ended;
  for (const auto& one : cleared) {
    const auto at = cooldowns_.find({one.org.value, one.target});
    if (!one.is_over || at == cooldowns_.end() || at->second.since != one.since) continue;
    ended.push_back(at->second);
    cooldowns_.erase(at);
  }
  batches_["clear"].push_back(cleared.size());
  if (answer_is_lost()) return away();
  return ended;
}

Result<void> FakeStore::add_failures(std::span<const FailedAttempts> failures, Millis) {
  const std::lock_guard lock(mutex_);
  if (auto there = begin("add_failures"); !there) return there;
  failures_.insert(failures_.end(), failures.begin(), failures.end());
  return {};
}

}  // namespace waybill::testing
