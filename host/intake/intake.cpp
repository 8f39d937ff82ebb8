// Groups submissions, and distinguishes new ones, repetitions and contradictions.
#include "intake/intake.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace waybill {
namespace {

constexpr std::size_t kMinShare = 100;  // the queue is split among the idle threads, into shares of at least this
constexpr Millis kHelpAfter{10};        // a second thread helps when the first has been busy with one group for so long

bool same_content(const NewSubmission& a, const NewSubmission& b) {
  return a.target == b.target && a.payload_hash == b.payload_hash;
}

struct KeyHash {
  std::size_t operator()(const NewSubmission* item) const { return std::hash<std::string_view>{}(item->client_ref); }
};
struct SameKey {
  bool operator()(const NewSubmission* a, const NewSubmission* b) const {
    return a->client_ref == b->client_ref && a->org == b->org && a->kind == b->kind;
  }
};

// The first item of each key is its leader and is stored; the others follow it and share its answer.
struct Leaders {
  std::vector<std::size_t> places;                           // into the group
  std::vector<std::pair<std::size_t, std::size_t>> follows;  // into the group, into places
};

template <class Group>
Leaders leaders_of(const Group& group) {
  Leaders leaders;
  leaders.places.reserve(group.size());
  std::unordered_map<const NewSubmission*, std::size_t, KeyHash, SameKey> leader_of;
  leader_of.reserve(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto [at, first] = leader_of.emplace(&group[i].item, leaders.places.size());
    if (first)
      leaders.places.push_back(i);
    else
      leaders.follows.emplace_back(i, at->second);
  }
  return leaders;
}

template <class Group>
std::vector<InsertGroup> insert_groups_of(const Group& group, const std::vector<std::size_t>& places,
                                          const std::vector<NewSubmission>& items) {
  std::vector<InsertGroup> all;
  std::unordered_map<RouteId, std::size_t> place_of;
  for (std::size_t n = 0; n < items.size(); ++n) {
    const auto [at, is_first] = place_of.emplace(items[n].route, all.size());
    if (is_first) all.push_back({items[n].org, items[n].route, group[places[n]].contract, 0, 0});
    ++all[at->second].count;
    all[at->second].bytes += items[n].payload.size();
  }
  return all;
}

// The groups with items that were stored, not claimed, and are not for later.
std::vector<InsertGroup> due_of(const std::vector<InsertGroup>& insert_groups, const std::vector<NewSubmission>& items,
                                const std::vector<SubmitResult>& answers) {
  std::set<RouteId> due;
  for (std::size_t n = 0; n < answers.size(); ++n)
    if (answers[n].how == SubmitResult::How::created && !answers[n].claimed && !answers[n].later) due.insert(items[n].route);
  std::vector<InsertGroup> all;
  for (const auto& one : insert_groups)
    if (due.contains(one.route)) all.push_back(one);
  return all;
}

// The claimed rows. Moves the payloads out of `items`.
ClaimResult claimed_of(std::vector<NewSubmission>& items, const std::vector<SubmitResult>& answers) {
  ClaimResult claimed;
  for (std::size_t n = 0; n < answers.size(); ++n) {
    const auto& [how, view, is_claimed, stored, is_later] = answers[n];
    if (!is_claimed) continue;
    claimed.now = stored;
    const std::size_t body_bytes = items[n].payload.size();
    claimed.rows.push_back({.delivery = {view.id.value},
                            .submission = view.id,
                            .org = view.org,
                            .route = items[n].route,
                            .due = view.created,
                            .action_order = 1,
                            .created = view.created,
                            .kind = items[n].kind,
                            .client_ref = view.client_ref,
                            .payload = std::move(items[n].payload),
                            .body_bytes = body_bytes,
                            .artifact = {},
                            .trace = items[n].trace,
                            .terms = items[n].terms});
  }
  return claimed;
}

}  // namespace

Intake::Intake(std::vector<std::unique_ptr<IntakeStore>> stores, const Clock& clock, IntakeSettings settings, Next next, Log& log)
    : clock_(clock),
      settings_(settings),
      next_(std::move(next)),
      log_(log),
      health_("intents", clock),
      stores_(std::move(stores)) {
  for (std::size_t i = 0; i < stores_.size(); ++i) pulses_.emplace_back("intake-" + std::to_string(i));
}

void Intake::start() {
  for (std::size_t i = 0; i < stores_.size(); ++i)
    threads_.emplace_back([this, i](std::stop_token stop) { run(stop, *stores_[i], pulses_[i]); });
}

Intake::~Intake() {
  for (auto& thread : threads_) thread.request_stop();
  threads_.clear();
  for (auto& left : waiting_) left.answer(fail(Error::Kind::unavailable, "the host is stopping"));
}

Intake::QueueEntry Intake::waiting_for(PendingIntent handed_in) const {
  auto& intent = handed_in.intent;
  QueueEntry waiting{.item = {.org = intent.org,
                              .kind = "intent",
                              .pipeline = "intent",
                              .state = "pending",
                              .client_ref = std::move(intent.intent_id),
                              .target = intent.contract->target,
                              .cooldown_key = intent.contract->cooldown_key(),
                              .payload = std::move(intent.payload),
                              .trace = std::move(intent.trace),
                              .terms = std::move(intent.terms),
                              .handed_in = intent.handed_in},
                     .contract = std::move(intent.contract),
                     .answer = std::move(handed_in.answer),
                     .since = clock_.now()};
  waiting.item.payload_hash = sha256(waiting.item.payload);
  return waiting;
}

void Intake::submit(NewIntent intent, Answer answer) {
  std::vector<PendingIntent> one;
  one.push_back({std::move(intent), std::move(answer)});
  submit(std::move(one));
}

void Intake::submit(std::vector<PendingIntent> batch) {
  std::vector<QueueEntry> all;
  all.reserve(batch.size());
  for (auto& handed_in : batch) all.push_back(waiting_for(std::move(handed_in)));
  std::size_t taken = 0;
  bool crowded = false;
  {
    std::lock_guard lock(mutex_);
    const auto has_room = [&](const QueueEntry& one) {
      return waiting_.empty() ||
             (waiting_.size() < settings_.max_waiting && bytes_waiting_ + one.item.payload.size() <= settings_.max_bytes_waiting);
    };
    for (; taken < all.size() && has_room(all[taken]); ++taken) {
      bytes_waiting_ += all[taken].item.payload.size();
      waiting_.push_back(std::move(all[taken]));
    }
    crowded = waiting_.size() > kMinShare;
  }
  if (taken > kMinShare)
    changed_.notify_all();
  else if (taken > 0)
    changed_.notify_one();
  if (crowded) crowded_.notify_all();
  for (; taken < all.size(); ++taken)
    all[taken].answer(fail(Error::Kind::unavailable, "too many submissions are waiting to be stored"));
}

void Intake::run(std::stop_token stop, IntakeStore& store, Pulse& pulse) {
  RouteCache routes;
  for (;;) {
    std::vector<QueueEntry> too_late;
    pulse.rest();
    auto group = take_group(stop, too_late);
    if (group.empty() && too_late.empty()) return;
    pulse.beat();
    refuse(std::move(too_late));
    if (!group.empty()) carry_in(stop, store, routes, std::move(group), pulse);
    std::lock_guard lock(mutex_);
    --writing_;
  }
}

// A statement costs as much as ten of its rows. So while one thread writes, it is left to take the few that wait afterwards.
// Another thread helps when many wait, or when the first does not finish.
bool Intake::is_to_help(std::unique_lock<std::mutex>& lock, std::stop_token stop) {
  const auto before = taken_;
  const bool crowded = crowded_.wait_for(lock, stop, kHelpAfter, [&] { return waiting_.size() > kMinShare; });
  return crowded || taken_ == before;
}

// Entries that have waited too long are not stored: nobody waits for their answer any more.
std::vector<Intake::QueueEntry> Intake::take_group(std::stop_token stop, std::vector<QueueEntry>& too_late) {
  std::unique_lock lock(mutex_);
  do {
    changed_.wait(lock, stop, [&] { return !waiting_.empty(); });
    if (stop.stop_requested()) return {};
  } while (writing_ > 0 && !is_to_help(lock, stop));
  if (stop.stop_requested()) return {};
  const auto idle = stores_.size() - writing_;  // this thread included
  ++writing_;
  ++taken_;
  const auto share = std::max((waiting_.size() + idle - 1) / idle, kMinShare);
  const auto most = std::min({share, settings_.max_in_group, waiting_.size()});
  std::vector<QueueEntry> group;
  group.reserve(most);
  const auto oldest = clock_.now() - settings_.patience;
  for (std::size_t bytes = 0; group.size() < most && !waiting_.empty(); waiting_.pop_front()) {
    const std::size_t size = waiting_.front().item.payload.size();
    if (waiting_.front().since <= oldest) {
      bytes_waiting_ -= size;
      too_late.push_back(std::move(waiting_.front()));
      continue;
    }
    bytes += size;
    if (bytes > settings_.max_bytes_in_group && !group.empty()) break;
    bytes_waiting_ -= size;
    group.push_back(std::move(waiting_.front()));
  }
  return group;
}

void Intake::carry_in(std::stop_token stop, IntakeStore& store, RouteCache& routes, std::vector<QueueEntry> group, Pulse& pulse) {
  auto stored = find_routes(store, routes, group);
  if (!stored) {
    put_back(std::move(group));
  } else if (settings_.shards == 1) {
    stored = submit_shard(store, Shard{0}, std::move(group));
  } else {
    std::map<Shard, std::vector<QueueEntry>> by_shard;
    for (auto& waiting : group)
      by_shard[shard_for(waiting.item.org, waiting.item.client_ref, settings_.shards)].push_back(std::move(waiting));
    for (auto& [shard, part] : by_shard) {
      pulse.beat();
      if (auto done = submit_shard(store, shard, std::move(part)); !done) stored = std::move(done);
    }
  }
  if (stored) return;
  health_.failed();
  log_.warn("intake.database_unavailable", {{"error", stored.error().what}});
  std::unique_lock lock(mutex_);  // no busy loop while the database is away
  changed_.wait_for(lock, stop, Millis{100}, [] { return false; });
}

std::optional<RouteId> Intake::RouteCache::find(OrgId org, const std::shared_ptr<const Contract>& contract) const {
  const auto at = entries_.find({org, contract.get()});
  if (at == entries_.end() || at->second.contract.expired()) return std::nullopt;
  return at->second.route;
}

void Intake::RouteCache::add(OrgId org, const std::shared_ptr<const Contract>& contract, RouteId route) {
  if (entries_.size() >= prune_at_) {
    std::erase_if(entries_, [](const auto& one) { return one.second.contract.expired(); });
    prune_at_ = std::max(prune_at_, 2 * entries_.size());
  }
  entries_.insert_or_assign({org, contract.get()}, Entry{contract, route});
}

Result<void> Intake::find_routes(IntakeStore& store, RouteCache& routes, std::vector<QueueEntry>& group) {
  for (auto at = group.begin(); at != group.end();) {
    auto known = routes.find(at->item.org, at->contract);
    if (!known) {
      auto route = store.route(at->item.org, *at->contract);
      if (!route && route.error().kind != Error::Kind::bug) return tl::unexpected(route.error());
      if (!route) {  // only this contract cannot be stored
        refuse(*at, route.error());
        at = group.erase(at);
        continue;
      }
      known = *route;
      routes.add(at->item.org, at->contract, *route);
    }
    at->item.route = *known;
    ++at;
  }
  return {};
}

Result<void> Intake::submit_shard(IntakeStore& store, Shard shard, std::vector<QueueEntry> group) {
  const auto leaders = leaders_of(group);
  std::vector<NewSubmission> items;  // lent to the store, without a copy
  items.reserve(leaders.places.size());
  for (const std::size_t i : leaders.places) items.push_back(std::move(group[i].item));
  auto insert_groups = insert_groups_of(group, leaders.places, items);
  const auto claim = next_.claim(shard, insert_groups);
  auto answers = store.submit(shard, items, claim);
  if (!answers) {
    if (claim) next_.unconfirmed(shard, *claim, insert_groups);
    for (std::size_t n = 0; n < items.size(); ++n) group[leaders.places[n]].item = std::move(items[n]);
    if (answers.error().kind == Error::Kind::bug && group.size() > 1) return submit_one_by_one(store, shard, std::move(group));
    if (answers.error().kind == Error::Kind::bug) {
      refuse(group.front(), answers.error());
      return {};
    }
    put_back(std::move(group));
    return tl::unexpected(answers.error());
  }

  health_.stored();
  if (const auto due = due_of(insert_groups, items, *answers); !due.empty()) next_.is_due(shard, due);
  auto claimed = claimed_of(items, *answers);
  std::vector<QueueEntry> again;
  for (const auto& [i, leader] : leaders.follows) {
    SubmitResult answer = (*answers)[leader];
    const bool same = same_content(group[i].item, items[leader]);
    if (answer.how == SubmitResult::How::conflict && !same) {  // it contradicts its leader, but perhaps not the stored one
      again.push_back(std::move(group[i]));
      continue;
    }
    if (answer.how == SubmitResult::How::created) answer.how = SubmitResult::How::existing;
    if (!same) answer.how = SubmitResult::How::conflict;
    group[i].answer(std::move(answer));
  }
  for (std::size_t n = 0; n < items.size(); ++n) group[leaders.places[n]].answer(std::move((*answers)[n]));
  if (claim)  // after the answers: the submissions are acknowledged whatever happens to them
    next_.claimed(shard, *claim, std::move(insert_groups), std::move(claimed));
  put_back(std::move(again));
  return {};
}

// One of them cannot be stored; the others must be.
Result<void> Intake::submit_one_by_one(IntakeStore& store, Shard shard, std::vector<QueueEntry> group) {
  Result<void> stored;
  std::vector<QueueEntry> left;
  for (auto& waiting : group) {
    if (!stored) {
      left.push_back(std::move(waiting));
      continue;
    }
    std::vector<QueueEntry> alone;
    alone.push_back(std::move(waiting));
    stored = submit_shard(store, shard, std::move(alone));
  }
  put_back(std::move(left));
  return stored;
}

void Intake::refuse(const QueueEntry& waiting, const Error& error) {
  log_.error("intake.refused_by_database", {{"reference", waiting.item.client_ref}, {"error", error.what}});
  waiting.answer(tl::unexpected(error));
}

void Intake::put_back(std::vector<QueueEntry> group) {
  if (group.empty()) return;
  std::vector<QueueEntry> too_late;
  {
    std::lock_guard lock(mutex_);
    for (auto at = group.rbegin(); at != group.rend(); ++at) {
      if (clock_.now() - at->since < settings_.patience) {
        bytes_waiting_ += at->item.payload.size();
        waiting_.push_front(std::move(*at));
      } else {
        too_late.push_back(std::move(*at));
      }
    }
  }
  refuse(std::move(too_late));
}

void Intake::refuse(std::vector<QueueEntry> too_late) {
  for (auto& waiting : too_late) waiting.answer(fail(Error::Kind::unavailable, "the database is away, or too slow"));
}

}  // namespace waybill
