// Grouping, and telling apart what is new, what is the same again, and what contradicts.
#include "intake/intake.h"

#include <unordered_map>

namespace waybill {
namespace {

constexpr std::size_t kMostCachedRoutes = 10'000;

std::string key_of(const NewSubmission& item) {
  std::string key = std::to_string(item.org.value);
  key.append(1, '\0').append(item.kind).append(1, '\0').append(item.client_ref);
  return key;
}

bool same_content(const NewSubmission& a, const NewSubmission& b) {
  return a.target == b.target && a.payload_hash == b.payload_hash;
}

}  // namespace

Intake::Intake(std::vector<std::unique_ptr<IntakeStore>> stores, const Clock& clock, IntakeSettings settings,
               std::function<void()> on_new, Log& log)
    : clock_(clock), settings_(settings), on_new_(std::move(on_new)), log_(log), stores_(std::move(stores)) {
  for (auto& store : stores_) threads_.emplace_back([this, &store = *store](std::stop_token stop) { run(stop, store); });
}

Intake::~Intake() {
  for (auto& thread : threads_) thread.request_stop();
  threads_.clear();
  for (auto& left : waiting_) left.answer(fail(Error::Kind::unavailable, "the host is stopping"));
}

void Intake::submit(NewIntent intent, Answer answer) {
  Waiting waiting{.item = {.org = intent.org,
                           .kind = "intent",
                           .pipeline = "intent",
                           .state = "pending",
                           .client_ref = std::move(intent.intent_id),
                           .target = intent.contract->target,
                           .action_type = intent.contract->action_type,
                           .payload = std::move(intent.payload)},
                  .contract = std::move(intent.contract),
                  .answer = std::move(answer),
                  .since = clock_.now()};
  waiting.item.payload_hash = sha256(waiting.item.payload);
  {
    std::lock_guard lock(mutex_);
    if (waiting_.size() < settings_.most_waiting) {
      waiting_.push_back(std::move(waiting));
      changed_.notify_one();
      return;
    }
  }
  waiting.answer(fail(Error::Kind::unavailable, "too many submissions are waiting to be stored"));
}

void Intake::run(std::stop_token stop, IntakeStore& store) {
  RouteCache routes;
  while (!stop.stop_requested())
    if (auto group = take_group(stop); !group.empty()) carry_in(stop, store, routes, std::move(group));
}

std::vector<Intake::Waiting> Intake::take_group(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return !waiting_.empty(); });
  std::vector<Waiting> group;
  while (!waiting_.empty() && group.size() < settings_.most_in_group) {
    group.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return group;
}

void Intake::carry_in(std::stop_token stop, IntakeStore& store, RouteCache& routes, std::vector<Waiting> group) {
  auto failed = find_routes(store, routes, group);
  if (failed) {
    std::map<Shard, std::vector<Waiting>> by_shard;
    for (auto& waiting : group)
      by_shard[shard_for(waiting.item.org, waiting.item.client_ref, settings_.shards)].push_back(std::move(waiting));
    for (auto& [shard, part] : by_shard) {
      const auto stored = submit_shard(store, shard, std::move(part));
      if (!stored) failed = stored;
    }
  } else {
    put_back(std::move(group));
  }
  if (failed) return;
  log_.warn("intake.database_unavailable", {{"error", failed.error().what}});
  std::unique_lock lock(mutex_);  // not a busy loop while the database is away
  changed_.wait_for(lock, stop, Millis{100}, [] { return false; });
}

Result<void> Intake::find_routes(IntakeStore& store, RouteCache& routes, std::vector<Waiting>& group) {
  if (routes.size() > kMostCachedRoutes) routes.clear();
  for (auto at = group.begin(); at != group.end();) {
    const auto key = std::pair(at->item.org, at->contract.get());
    auto known = routes.find(key);
    if (known == routes.end()) {
      auto route = store.route(at->item.org, *at->contract);
      if (!route && route.error().kind != Error::Kind::bug) return tl::unexpected(route.error());
      if (!route) {  // this contract cannot be stored; the others must not suffer for it
        refuse(*at, route.error());
        at = group.erase(at);
        continue;
      }
      known = routes.emplace(key, Route{at->contract, *route}).first;
    }
    at->item.route = known->second.id;
    ++at;
  }
  return {};
}

Result<void> Intake::submit_shard(IntakeStore& store, Shard shard, std::vector<Waiting> group) {
  // One of each key leads; the others follow it and share its answer.
  std::unordered_map<std::string, std::size_t> leader_of;
  std::vector<std::size_t> leaders;                          // into group
  std::vector<std::pair<std::size_t, std::size_t>> follows;  // into group, into leaders
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto [at, first] = leader_of.emplace(key_of(group[i].item), leaders.size());
    if (first)
      leaders.push_back(i);
    else
      follows.emplace_back(i, at->second);
  }
  std::vector<NewSubmission> items;
  items.reserve(leaders.size());
  for (const std::size_t i : leaders) items.push_back(group[i].item);

  auto answers = store.submit(shard, items);
  if (!answers && answers.error().kind == Error::Kind::bug && group.size() > 1) {
    // One of them cannot be stored. The others must not suffer for it: each on its own.
    Result<void> stored;
    std::vector<Waiting> left;
    for (auto& waiting : group) {
      if (!stored) {
        left.push_back(std::move(waiting));
        continue;
      }
      std::vector<Waiting> alone;
      alone.push_back(std::move(waiting));
      stored = submit_shard(store, shard, std::move(alone));
    }
    put_back(std::move(left));
    return stored;
  }
  if (!answers) {
    if (answers.error().kind != Error::Kind::bug) {
      const auto error = answers.error();
      put_back(std::move(group));
      return tl::unexpected(error);
    }
    refuse(group.front(), answers.error());
    return {};
  }

  bool any_new = false;
  for (const auto& answer : *answers) any_new |= answer.how == Submitted::How::created;
  if (any_new) on_new_();
  std::vector<Waiting> again;
  for (const auto& [i, leader] : follows) {
    Submitted answer = (*answers)[leader];
    const bool same = same_content(group[i].item, items[leader]);
    if (answer.how == Submitted::How::conflict && !same) {  // it contradicts its leader, but perhaps not what is stored
      again.push_back(std::move(group[i]));
      continue;
    }
    if (answer.how == Submitted::How::created) answer.how = Submitted::How::existing;
    if (!same) answer.how = Submitted::How::conflict;
    group[i].answer(std::move(answer));
  }
  for (std::size_t n = 0; n < leaders.size(); ++n) group[leaders[n]].answer(std::move((*answers)[n]));
  put_back(std::move(again));
  return {};
}

void Intake::refuse(const Waiting& waiting, const Error& error) {
  log_.error("intake.refused_by_database", {{"reference", waiting.item.client_ref}, {"error", error.what}});
  waiting.answer(tl::unexpected(error));
}

void Intake::put_back(std::vector<Waiting> group) {
  std::vector<Waiting> too_late;
  {
    std::lock_guard lock(mutex_);
    for (auto at = group.rbegin(); at != group.rend(); ++at) {
      if (clock_.now() - at->since < settings_.patience)
        waiting_.push_front(std::move(*at));
      else
        too_late.push_back(std::move(*at));
    }
  }
  for (auto& waiting : too_late) waiting.answer(fail(Error::Kind::unavailable, "the database is away"));
}

}  // namespace waybill
