// The settler's thread: gather, decide, write, tell.
#include "settle/settler.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
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
  write_outages(stop, batch);  // before anything of these targets is due again
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
  std::unordered_map<DeliveryId, ClaimToken> written;
  for (std::size_t i = 0; i < held->held.size(); ++i) written[held->held[i]] = held->tokens.at(i);
  for (const auto& state : held->form_states) metrics_.submission(state);
  for (std::size_t i = 0; i < part.size(); ++i) {
    const auto claim = written.find(part[i]->job.delivery);
    if (again || (claim != written.end() && claim->second == part[i]->job.token)) {
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
    const std::unordered_set<DeliveryId> kept(held->begin(), held->end());
    Settled settled;
    for (const auto& one : composed)
      if (kept.contains(one.delivery)) {
        settled.held.push_back(one.delivery);
        settled.tokens.push_back(one.token);
      }
    return settled;
  }
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  settlements.reserve(part.size());
  for (const Finished* finished : part) {
    settlements.push_back(
        settlement_of(*finished, timing_of(*finished), uniform(random_), settings_.actor, outage_of(*finished)));
    if (detail == Detail::least) settlements.back() = minimal(std::move(settlements.back()));
  }
  return store_.settle(shard, settlements);
}

void Settler::write_outages(std::stop_token stop, const std::vector<Finished>& batch) {
  outages_.clear();
  for (const auto write : {&Settler::write_cleared, &Settler::write_blames}) {
    for (auto written = (this->*write)(batch); !written; written = (this->*write)(batch)) {
      log_.warn("settle.outages_not_written", {{"error", written.error().what}});
      if (written.error().kind == Error::Kind::bug || give_up(stop)) break;
    }
  }
}

// What the attempts of targets in an outage tell of it.
Result<void> Settler::write_cleared(const std::vector<Finished>& batch) {
  std::map<std::tuple<OrgId, std::string, std::int64_t>, bool> is_over;
  for (const auto& finished : batch) {
    if (!finished.job.outage_since) continue;
    const bool got_through = finished.how == Finished::How::attempted && clears_target(*finished.outcome);
    const bool blames = finished.how == Finished::How::attempted && blames_target(*finished.outcome);
    if (got_through || (finished.job.probe && !blames))
      is_over[{finished.job.org, finished.job.contract->rest_key(), finished.job.outage_since->micros}] |= got_through;
  }
  if (is_over.empty()) return {};
  std::vector<Cleared> cleared;
  for (const auto& [key, over] : is_over) {
    const auto& [org, target, since] = key;
    cleared.push_back({org, target, Timestamp{since}, over});
  }
  const auto ended = store_.clear(cleared);
  if (!ended) return tl::unexpected(ended.error());
  for (const auto& outage : *ended)
    log_.info("target.recovered",
              {{"target", outage.target}, {"since", format_rfc3339(outage.since)}, {"reason", outage.reason}});
  return {};
}

Result<void> Settler::write_blames(const std::vector<Finished>& batch) {
  std::vector<BlamedTarget> blames;
  for (const auto& finished : batch)
    if (finished.how == Finished::How::attempted && blames_target(*finished.outcome))
      blames.push_back({finished.job.org, finished.job.contract->rest_key(), finished.finished_at,
                        std::clamp(finished.outcome->retry_after.value_or(Millis(0)), Millis(0), kMaxRetryAfter),
                        finished.outcome->reason});
  if (blames.empty()) return {};
  const auto outages = store_.blame(blames, settings_.target_rest);
  if (!outages) return tl::unexpected(outages.error());
  for (const auto& outage : *outages) {
    outages_[{outage.org, outage.target}] = outage;
    const bool is_new = std::any_of(blames.begin(), blames.end(), [&](const BlamedTarget& blame) {
      return blame.org == outage.org && blame.target == outage.target && blame.at == outage.since;
    });
    if (is_new)
      log_.warn("target.rests", {{"target", outage.target}, {"until", format_rfc3339(outage.until)}, {"reason", outage.reason}});
  }
  return {};
}

std::optional<Outage> Settler::outage_of(const Finished& finished) const {
  if (finished.how != Finished::How::attempted || !blames_target(*finished.outcome)) return std::nullopt;
  const auto known = outages_.find({finished.job.org, finished.job.contract->rest_key()});
  if (known != outages_.end()) return Outage{known->second.since, known->second.until, settings_.outage};
  return Outage{finished.job.outage_since.value_or(finished.finished_at), finished.finished_at, settings_.outage};
}

// Best effort: a digest that is short of a few failures does less harm than a settlement that waits for it.
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
