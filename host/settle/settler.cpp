// The settler's thread: gather, decide, write, report.
#include "settle/settler.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "settle/delivery_spans.h"
#include "settle/disabled_channel.h"
#include "settle/objective_end.h"
#include "settle/settlement.h"
#include "store/pg/sqlstate.h"

namespace waybill {
// Attempts of one target that ended alike come one after the other: they are counted together.
struct Settler::AttemptRun {
  Metrics& metrics;
  ObjectiveRun ends;
  const Contract* contract = nullptr;
  std::string_view outcome{}, reason{};
  std::uint64_t attempts = 0;

  void add(const Contract& of, std::string_view ended, std::string_view why) {
    if (contract != &of || outcome != ended || reason != why) {
      flush();
      contract = &of, outcome = ended, reason = why;
    }
    ++attempts;
  }
  void flush_all() {
    flush();
    ends.flush();
  }
  void flush() {
    const auto count = std::exchange(attempts, 0);
    if (count == 0) return;
    const bool is_channel = contract->is_of_channel();  // organisations make as many as they like
    metrics.attempts(contract->action_type, outcome, count);
    metrics.target_attempts(is_channel ? "channels" : std::string_view(contract->target), outcome, reason, count);
  }
};

Settler::Settler(SettleStore& store, Answers& answers, const Clock& clock, SettlerSettings settings,
                 std::function<std::size_t()> all_out, std::function<void(const WriteResult&)> written, Log& log,
                 Metrics& metrics)
    : store_(store),
      clock_(clock),
      settings_(std::move(settings)),
      all_out_(std::move(all_out)),
      written_(std::move(written)),
      log_(log),
      metrics_(metrics),
      outages_(store, answers, clock, {settings_.cooldown, settings_.outage}, log),
      writer_(store, log, metrics),
      aside_(store, log) {}

Settler::~Settler() { stop(Millis{0}); }

void Settler::start() {
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

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
    pulse_.rest();
    auto batch = take_batch(stop);
    pulse_.beat();
    if (!batch.empty()) {
      outages_.judge(batch);
      keep_for_channels(batch, settings_.kept_notifications);
      outages_.write(batch, [&] { return give_up(stop); });  // before anything of these targets is due again
      write_channel_results(batch);
      write(stop, std::move(batch));
    } else if (aside_.empty()) {
      return;
    } else if (stop.stop_requested() && give_up(stop)) {
      return abandon_aside();
    }
    if (!aside_.empty() && Aside::Clock::now() >= aside_.next_look()) write_aside(stop);
  }
}

// Empty when it is time to stop, or to look at the jobs set aside.
std::vector<Finished> Settler::take_batch(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  const auto is_any = [&] { return !waiting_.empty(); };
  const bool is_there =
      aside_.empty() ? changed_.wait(lock, stop, is_any) : changed_.wait_until(lock, stop, aside_.next_look(), is_any);
  if (!is_there) return {};
  const auto enough = [&] { return waiting_.size() >= settings_.batch / 2 || waiting_.size() + aside_.size() >= all_out_(); };
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

// Pauses before the next try. True when the patience of stop() is used up.
bool Settler::give_up(std::stop_token stop) {
  constexpr Millis kPause{100};
  pulse_.beat();  // the database is in trouble, not this thread
  std::unique_lock lock(mutex_);
  if (!stop.stop_requested())
    changed_.wait_for(lock, stop, kPause, [] { return false; });
  else if (clock_.now() < patient_until_)
    changed_.wait_for(lock, kPause);  // waiting for `stop` would return at once
  return stop.stop_requested() && clock_.now() >= patient_until_;
}

// `again`: see write_shard().
void Settler::write(std::stop_token stop, std::vector<Finished> batch, bool again) {
  // What was composed goes by a statement of its own.
  std::map<std::pair<Shard, bool>, Part> parts;
  for (const auto& finished : batch)
    parts[{shard_of(finished.job.delivery), finished.how == Finished::How::composed}].push_back(&finished);
  for (auto& [key, part] : parts) write_part(stop, key.first, std::move(part), again);
  if (!locked_.empty()) set_aside(batch);
  if (batch.empty()) return;
  write_failures(batch);
  report(batch);
}

void Settler::report(const std::vector<Finished>& batch) {
  WriteResult written{batch, {}, std::exchange(unwritten_, {}), outages_.take_began()};
  for (const auto& finished : batch)
    if (finished.how != Finished::How::unattempted && finished.how != Finished::How::composed)
      written.moved.push_back(finished.job.submission);
  written_(written);
}

void Settler::write_part(std::stop_token stop, Shard shard, Part part, bool again) {
  if (aside_.expects_more()) take_locked(shard, part, again);
  while (!part.empty()) {
    const auto written = write_shard(shard, part, again);
    if (written) return;
    const bool is_locked = is_lock_timeout(written.error());
    if (is_locked && take_locked(shard, part, again)) continue;  // the others at once
    again |= !is_locked;
    log_.warn("settle.database_unavailable", {{"error", written.error().what}, {"deliveries", part.size()}});
    if (!give_up(stop)) continue;
    return leave_to_lease(part);
  }
}

// Writes `part` and removes from it what needs no further call; all of its jobs are composed, or none is. `again`: the answer of
// an earlier call was lost, so a token that is gone may have been used by that call.
Result<void> Settler::write_shard(Shard shard, Part& part, bool again) {
  const bool is_composed = part.front()->how == Finished::How::composed;
  auto settlements = is_composed ? std::vector<Settlement>{} : settlements_of(part);
  std::size_t done = 0;
  AttemptRun run{.metrics = metrics_, .ends = {metrics_.objective(), settings_.objective}};
  const auto note = [&](std::size_t first, std::size_t count, const SettleResult& result) {
    std::unordered_map<DeliveryId, ClaimToken> held;
    for (std::size_t i = 0; i < result.held.size(); ++i) held[result.held[i]] = result.tokens.at(i);
    for (done = first; done < first + count; ++done) {
      const JobHead& job = part[done]->job;
      const auto claim = held.find(job.delivery);
      if (again || (claim != held.end() && claim->second == job.token)) {
        if (!is_composed) this->count(*part[done], settlements[done], run);
        continue;
      }
      metrics_.claim_lost("stale_settle");
      log_.write(Log::Level::warn, "settle.stale",
                 traced({{"delivery", job.delivery.value}, {"reference", job.idempotency_key}}, job.trace));
    }
    run.flush_all();
  };
  const SettlementWriter::Listener listener{.written = note,
                                            .refused =
                                                [&](std::size_t at) {
                                                  unwritten_.push_back(part[at]->job.token);
                                                  done = at + 1;
                                                },
                                            .about = [&](std::size_t at) -> SettlementWriter::About {
                                              const auto& outcome = part[at]->outcome;
                                              return {part[at]->job.client_ref, outcome ? outcome->detail : std::string()};
                                            }};
  const auto written =
      is_composed ? writer_.save_artifacts(shard, compose_rows(part), listener) : writer_.settle(shard, settlements, listener);
  part.erase(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(done));
  return written;
}

std::vector<ComposeRow> Settler::compose_rows(const Part& part) {
  std::vector<ComposeRow> rows;
  rows.reserve(part.size());
  for (const Finished* finished : part)
    rows.push_back({finished->job.delivery, finished->job.token, *finished->outcome->artifact});
  return rows;
}

std::vector<Settlement> Settler::settlements_of(const Part& part) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::vector<Settlement> settlements;
  settlements.reserve(part.size());
  for (const Finished* finished : part)
    settlements.push_back(
        settlement_of(*finished, timing_of(*finished), uniform(random_), settings_.actor, outages_.outage_of(*finished)));
  return settlements;
}

// Moves jobs with locked rows from `part` to locked_. False if there are none.
bool Settler::take_locked(Shard shard, Part& part, bool again) {
  std::vector<DeliveryId> wanted;
  wanted.reserve(part.size());
  for (const Finished* finished : part) wanted.push_back(finished->job.delivery);
  const auto locked = aside_.locked(shard, wanted);
  return std::erase_if(part, [&](const Finished* finished) {
           return locked.contains(finished->job.delivery) && locked_.emplace(finished, again).second;
         }) > 0;
}

// Moves the jobs of locked_ out of `batch`.
void Settler::set_aside(std::vector<Finished>& batch) {
  std::vector<Finished> others;
  std::vector<Aside::Item> locked;
  for (auto& finished : batch) {
    const auto at = locked_.find(&finished);
    if (at == locked_.end()) {
      others.push_back(std::move(finished));
      continue;
    }
    auto outage = outages_.cooldown_of(finished);
    locked.push_back({std::move(finished), std::move(outage), at->second});
  }
  locked_.clear();
  batch = std::move(others);
  aside_.add(std::move(locked));
}

void Settler::write_aside(std::stop_token stop) {
  std::map<bool, std::vector<Aside::Item>> free;
  for (auto& item : aside_.take_free()) free[item.again].push_back(std::move(item));
  for (auto& [again, items] : free) {
    for (std::size_t begin = 0; begin < items.size(); begin += settings_.batch) {
      std::vector<Finished> batch;
      outages_.forget();
      for (std::size_t i = begin; i < std::min(begin + settings_.batch, items.size()); ++i) {
        if (items[i].outage) outages_.remember(items[i].finished, *items[i].outage);
        batch.push_back(std::move(items[i].finished));
      }
      write(stop, std::move(batch), again);
    }
  }
}

void Settler::abandon_aside() {
  std::vector<Finished> batch;
  for (auto& item : aside_.take_all()) batch.push_back(std::move(item.finished));
  Part all;
  for (const auto& finished : batch) all.push_back(&finished);
  leave_to_lease(all);
  report(batch);
}

void Settler::leave_to_lease(const Part& part) {
  log_.error("settle.given_up",
             {{"deliveries", part.size()}, {"remedy", "their leases run out and another host takes them over"}});
  for (const Finished* finished : part) unwritten_.push_back(finished->job.token);
}

// Best effort, as write_failures() is.
void Settler::write_channel_results(const std::vector<Finished>& batch) {
  std::vector<ChannelResult> results;
  for (const auto& finished : batch) {
    const Contract& contract = *finished.job.contract;
    if (finished.how != Finished::How::attempted || !contract.is_of_channel()) continue;
    if (outages_.is_own_finding(finished)) continue;  // what this host alone cannot reach disables nobody's channel
    const bool is_accepted = finished.outcome->verdict == Verdict::accepted;
    const bool is_gone = finished.outcome->verdict == Verdict::rejected && finished.outcome->reason == kGone;
    results.push_back({finished.job.org, contract.channel,
                       is_accepted ? ChannelResult::How::accepted
                       : is_gone   ? ChannelResult::How::gone
                                   : ChannelResult::How::failed});
  }
  if (results.empty()) return;
  const auto disabled = store_.record_channel_results(results, settings_.channel_patience);
  if (!disabled) return log_.warn("settle.channels_not_written", {{"error", disabled.error().what}});
  for (const auto& one : *disabled) log_.warn("channel.disabled", {{"channel", one.channel}, {"reason", one.reason}});
}

namespace {
// Whose reasons are told apart together: organisations make as many channels as they like.
std::string reasons_of(const JobHead& job) {
  return job.contract->is_of_channel() ? "channels of " + std::to_string(job.org.value) : job.contract->target;
}
}  // namespace

// Best effort: a digest may miss a few failures; a settlement must not wait for it.
void Settler::write_failures(const std::vector<Finished>& batch) {
  std::map<std::tuple<OrgId, std::string_view, std::string, std::string_view>, std::uint64_t> counts;
  for (const auto& finished : batch)
    if (finished.how == Finished::How::attempted && finished.outcome->verdict == Verdict::transient &&
        finished.job.kind != kAlertKind) {
      const Contract& contract = *finished.job.contract;
      ++counts[{finished.job.org, contract.action_type, delivery_target(contract),
                metrics_.reason_label(reasons_of(finished.job), finished.outcome->reason)}];
    }
  if (counts.empty()) return;
  std::vector<FailedAttempts> failures;
  for (const auto& [key, count] : counts) {
    const auto& [org, action_type, target, reason] = key;
    failures.push_back({org, std::string(action_type), target, std::string(reason), count});
  }
  if (const auto written = store_.add_failures(failures, settings_.failure_period); !written)
    log_.warn("settle.failures_not_written", {{"error", written.error().what}});
}

void Settler::count(const Finished& finished, const Settlement& settlement, AttemptRun& run) {
  const std::string& type = finished.job.contract->action_type;
  if (finished.job.trace && settings_.tracer != nullptr)
    record_spans(*settings_.tracer, finished, settlement, database_now(finished.job, clock_.now()));
  if (settlement.attempt) {
    metrics_.attempt_took(type, std::chrono::duration_cast<Metrics::Duration>(finished.finished_at - finished.started_at),
                          finished.job.trace);
    const std::string_view reason = finished.outcome ? finished.outcome->reason : settlement.attempt->reason;
    run.add(*finished.job.contract, settlement.attempt->outcome, reason);
  }
  run.ends.add(finished.job.org, *finished.job.contract, settlement.status, settlement.ended - finished.job.begins());
  if (settlement.dead_letter)
    log_.write(Log::Level::error, "dead_letter.created",
               traced({{"delivery", settlement.delivery.value},
                       {"reference", finished.job.idempotency_key},
                       {"target", finished.job.contract->target},
                       {"reason", settlement.reason}},
                      finished.job.trace));
  if (settlement.submission_state.empty()) return;
  if (finished.job.kind == kAlertKind) {  // log and metrics only: never an alert about an alert
    if (settlement.status == Status::accepted) return;
    metrics_.alert_not_delivered();
    log_.error("alert.not_delivered", {{"reference", finished.job.idempotency_key},
                                       {"target", finished.job.contract->target},
                                       {"state", settlement.submission_state},
                                       {"reason", settlement.reason}});
    return;
  }
  metrics_.submission(settlement.submission_state);
  metrics_.end_to_end(type, std::chrono::duration_cast<Metrics::Duration>(settlement.ended - finished.job.begins()),
                      finished.job.trace);
}

const RetryTiming& Settler::timing_of(const Finished& finished) const {
  const Contract& contract = *finished.job.contract;
  if (contract.stage && contract.stage->timing) return *contract.stage->timing;
  return contract.is_of_channel() ? channel_timing_for(settings_.retry, contract.action_type)
                                  : timing_for(settings_.retry, contract.action_type);
}

}  // namespace waybill
