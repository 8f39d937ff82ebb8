// The settler's thread: gather, decide, write, tell.
#include "settle/settler.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "settle/settlement.h"

namespace waybill {

Settler::Settler(SettleStore& store, const Clock& clock, SettlerSettings settings, std::function<std::size_t()> all_out,
                 std::function<void(const Written&)> written, Log& log, Metrics& metrics)
    : store_(store),
      clock_(clock),
      settings_(std::move(settings)),
      all_out_(std::move(all_out)),
      written_(std::move(written)),
      log_(log),
      metrics_(metrics),
      thread_([this](std::stop_token stop) { run(stop); }) {}

Settler::~Settler() { stop(Millis{0}); }

void Settler::take(std::vector<Finished> finished) {
  std::lock_guard lock(mutex_);
  if (waiting_.empty())
    waiting_ = std::move(finished);
  else
    std::move(finished.begin(), finished.end(), std::back_inserter(waiting_));
  changed_.notify_all();
}

void Settler::stop(Millis patience) {
  {
    std::lock_guard lock(mutex_);
    patient_until_ = clock_.now() + patience;
  }
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Settler::run(std::stop_token stop) {
  for (;;) {
    const auto batch = take_batch(stop);
    if (batch.empty()) return;
    write(stop, batch);
  }
}

std::vector<Finished> Settler::take_batch(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return !waiting_.empty(); });
  const auto enough = [&] { return waiting_.size() >= settings_.batch / 2 || waiting_.size() >= all_out_(); };
  changed_.wait_for(lock, stop, settings_.gather, enough);
  std::vector<Finished> batch;
  if (waiting_.size() <= settings_.batch) {
    batch.swap(waiting_);
  } else {
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(settings_.batch);
    std::move(waiting_.begin(), end, std::back_inserter(batch));
    waiting_.erase(waiting_.begin(), end);
  }
  return batch;
}

bool Settler::give_up(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, Millis{100}, [] { return false; });
  return stop.stop_requested() && clock_.now() >= patient_until_;
}

void Settler::write(std::stop_token stop, const std::vector<Finished>& batch) {
  // What was composed goes by a statement of its own.
  std::map<std::pair<Shard, bool>, std::vector<const Finished*>> parts;
  for (const auto& finished : batch)
    parts[{shard_of(finished.job.delivery), finished.how == Finished::How::composed}].push_back(&finished);
  for (const auto& [key, part] : parts) {
    const Shard shard = key.first;
    for (bool again = false; !write_shard(shard, part, again); again = true) {
      if (!give_up(stop)) continue;
      log_.error("settle.given_up",
                 {{"deliveries", part.size()}, {"remedy", "their leases run out and another host takes them over"}});
      for (const Finished* finished : part) unwritten_.push_back(finished->job.token);
      break;
    }
  }
  write_rests(batch);
  write_failures(batch);
  Written written{batch, {}, std::exchange(unwritten_, {})};
  for (const auto& finished : batch)
    if (finished.how != Finished::How::unattempted && finished.how != Finished::How::composed)
      written.moved.push_back(finished.job.submission);
  written_(written);
}

// `again`: an earlier call's answer was lost, so what is not held any more may be our own writing.
bool Settler::write_shard(Shard shard, const std::vector<const Finished*>& part, bool again, Detail detail) {
  std::vector<Settlement> settlements;
  auto held = write_once(shard, part, detail, settlements);
  if (!held && held.error().kind == Error::Kind::bug && part.size() > 1) {  // one of them cannot be written: each on its own
    bool all = true;
    for (const Finished* one : part) all &= write_shard(shard, {one}, again, detail);
    return all;
  }
  if (!held && held.error().kind == Error::Kind::bug && detail == Detail::all &&
      part.front()->how != Finished::How::composed) {  // its end is worth more than what was said about it
    const auto& outcome = part.front()->outcome;
    log_.error("settle.detail_refused", {{"delivery", part.front()->job.delivery.value},
                                         {"error", held.error().what},
                                         {"detail", outcome ? outcome->detail : std::string()}});
    return write_shard(shard, part, again, Detail::least);
  }
  if (!held && held.error().kind == Error::Kind::bug) {
    log_.error("settle.refused_by_database", {{"delivery", part.front()->job.delivery.value},
                                              {"error", held.error().what},
                                              {"remedy", "its lease runs out and it is tried again"}});
    unwritten_.push_back(part.front()->job.token);
    return true;
  }
  if (!held) {
    log_.warn("settle.database_unavailable", {{"error", held.error().what}, {"deliveries", part.size()}});
    return false;
  }
  const std::unordered_set<DeliveryId> written(held->held.begin(), held->held.end());
  for (const auto& state : held->form_states) metrics_.submission(state);
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (again || written.contains(part[i]->job.delivery)) {
      if (!settlements.empty()) count(*part[i], settlements[i]);
    } else {
      metrics_.claim_lost("stale_settle");
      log_.warn("settle.stale", {{"delivery", part[i]->job.delivery.value}, {"reference", part[i]->job.idempotency_key}});
    }
  }
  return true;
}

// `part` is all composed, or not at all.
Result<Settled> Settler::write_once(Shard shard, const std::vector<const Finished*>& part, Detail detail,
                                    std::vector<Settlement>& settlements) {
  if (part.front()->how == Finished::How::composed) {
    std::vector<Composed> composed;
    composed.reserve(part.size());
    for (const Finished* finished : part)
      composed.push_back({finished->job.delivery, finished->job.token, *finished->outcome->artifact});
    auto held = store_.keep(shard, composed);
    if (!held) return tl::unexpected(held.error());
    return Settled{std::move(*held), {}};
  }
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  settlements.reserve(part.size());
  for (const Finished* finished : part) {
    settlements.push_back(settlement_of(*finished, timing_of(*finished), uniform(random_), settings_.actor));
    if (detail == Detail::least) settlements.back() = minimal(std::move(settlements.back()));
  }
  return store_.settle(shard, settlements);
}

void Settler::write_rests(const std::vector<Finished>& batch) {
  std::vector<Rest> rests;
  for (const auto& finished : batch) {
    if (!finished.outcome || finished.outcome->scope != Scope::whole_target) continue;
    const Millis length = finished.outcome->retry_after.value_or(settings_.target_rest);
    rests.push_back(
        {finished.job.org, finished.job.contract->rest_key(), finished.finished_at + length, finished.outcome->reason});
  }
  if (rests.empty()) return;
  for (const auto& rest : rests)
    log_.warn("target.rests", {{"target", rest.target}, {"until", format_rfc3339(rest.until)}, {"reason", rest.reason}});
  if (const auto written = store_.rest(rests); !written) log_.warn("settle.rest_not_written", {{"error", written.error().what}});
}

// Best effort, like the rests: a digest that is short of a few failures does less harm than a settlement that waits for it.
void Settler::write_failures(const std::vector<Finished>& batch) {
  std::map<std::tuple<OrgId, std::string_view, std::string_view, std::string_view>, std::uint64_t> counts;
  for (const auto& finished : batch)
    if (finished.how == Finished::How::attempted && finished.outcome->verdict == Verdict::transient &&
        finished.job.kind != kAlertKind)
      ++counts[{finished.job.org, finished.job.contract->action_type, finished.job.contract->target, finished.outcome->reason}];
  if (counts.empty()) return;
  std::vector<FailedAttempts> failures;
  for (const auto& [key, count] : counts) {
    const auto& [org, action_type, target, reason] = key;
    failures.push_back({org, std::string(action_type), std::string(target), std::string(reason), count});
  }
  if (const auto written = store_.add_failures(failures, settings_.failure_period); !written)
    log_.warn("settle.failures_not_written", {{"error", written.error().what}});
}

void Settler::count(const Finished& finished, const Settlement& settlement) {
  const std::string& type = finished.job.contract->action_type;
  if (settlement.attempt)
    metrics_.attempt(type, settlement.attempt->outcome,
                     std::chrono::duration_cast<Metrics::Duration>(finished.finished_at - finished.started_at));
  if (settlement.dead_letter)
    log_.error("dead_letter", {{"delivery", settlement.delivery.value},
                               {"reference", finished.job.idempotency_key},
                               {"target", finished.job.contract->target},
                               {"reason", settlement.reason}});
  if (settlement.submission_state.empty()) return;
  if (finished.job.kind == kAlertKind) {  // told in the log and the metrics only: never an alert about an alert
    if (settlement.status == Status::accepted) return;
    metrics_.alert_not_delivered();
    log_.error("alert.not_delivered", {{"reference", finished.job.idempotency_key},
                                       {"target", finished.job.contract->target},
                                       {"state", settlement.submission_state},
                                       {"reason", settlement.reason}});
    return;
  }
  metrics_.submission(settlement.submission_state);
  metrics_.end_to_end(type, std::chrono::duration_cast<Metrics::Duration>(settlement.ended - finished.job.created));
}

const RetryTiming& Settler::timing_of(const Finished& finished) const {
  return timing_for(settings_.retry, finished.job.contract->action_type);
}

}  // namespace waybill
