// What attempts say of their targets, written by statements of their own.
#include "settle/target_outages.h"

#include <algorithm>
#include <tuple>

#include "store/pg/sqlstate.h"

namespace waybill {
namespace {

constexpr auto kAfterLock = std::chrono::seconds(1);  // until outages are written again

std::pair<OrgId, std::string> key_of(const Finished& finished) {
  return {finished.job.org, finished.job.contract->cooldown_key()};
}

}  // namespace

void TargetOutages::write(const std::vector<Finished>& batch, const std::function<bool()>& give_up) {
  known_.clear();
  lone_refusals_ = refusals_.of(batch);
  answers_.note(batch);
  std::erase_if(locked_, [now = clock_.now()](const auto& one) { return one.second <= now; });
  if (clock_.now() < not_before_) return;
  for (const auto step : {&TargetOutages::write_cleared, &TargetOutages::write_blames}) {
    for (auto written = (this->*step)(batch); !written; written = (this->*step)(batch)) {
      log_.warn("settle.outages_not_written", {{"error", written.error().what}});
      if (is_lock_timeout(written.error())) not_before_ = clock_.now() + kAfterLock;
      if (written.error().kind == Error::Kind::bug || is_lock_timeout(written.error()) || give_up()) break;
    }
  }
}

// Ends outages of targets that an attempt got through to, and probes that were never sent.
Result<void> TargetOutages::write_cleared(const std::vector<Finished>& batch) {
  std::map<std::tuple<OrgId, std::string, std::int64_t, HostId>, bool> is_over;
  for (const auto& finished : batch) {
    if (!finished.job.outage_since) continue;
    if (locked_.contains(key_of(finished))) continue;
    const bool got_through = finished.how == Finished::How::attempted && clears_target(*finished.outcome);
    const bool blames = finished.how == Finished::How::attempted && blames_target(*finished.outcome);
    if (got_through || (finished.job.probe && !blames))
      is_over[{finished.job.org, finished.job.contract->cooldown_key(), finished.job.outage_since->micros,
               host_of(finished.job.token)}] |= got_through;
  }
  if (is_over.empty()) return {};
  std::vector<ClearedCooldown> cleared;
  for (const auto& [key, over] : is_over) {
    const auto& [org, target, since, host] = key;
    cleared.push_back({org, target, Timestamp{since}, host, over});
  }
  const auto ended = store_.clear(cleared);
  TRY(ended);
  for (const auto& outage : *ended) {
    breaker_.forget(outage.org, outage.target);
    log_.info("target.recovered",
              {{"target", outage.target}, {"since", format_rfc3339(outage.since)}, {"reason", outage.reason}});
  }
  return {};
}

Result<void> TargetOutages::write_blames(const std::vector<Finished>& batch) {
  std::vector<BlamedTarget> blames;
  for (const auto& finished : batch) {
    if (finished.how != Finished::How::attempted || !blames_target(*finished.outcome) || lone_refusals_.contains(&finished) ||
        locked_.contains(key_of(finished)))
      continue;
    const auto unreached = answers_.unreached(finished.job.org, finished.job.contract->cooldown_key());
    blames.push_back({finished.job.org, finished.job.contract->cooldown_key(), finished.finished_at,
                      std::clamp(finished.outcome->retry_after.value_or(Millis(0)), Millis(0), kMaxRetryAfter),
                      finished.outcome->reason, finished.is_answered(), host_of(finished.job.token),
                      unreached && unreached->others_connected});
  }
  if (blames.empty()) return {};
  const auto outages = store_.blame(blames, settings_.cooldown);
  TRY(outages);
  for (const auto& outage : *outages) {
    Known& known = known_[{outage.org, outage.target}];
    (outage.of_this_host ? known.own : known.shared) = outage;
    const bool is_new = std::any_of(blames.begin(), blames.end(), [&](const BlamedTarget& blame) {
      return blame.org == outage.org && blame.target == outage.target && blame.at == outage.since;
    });
    began_ |= is_new;
    if (is_new)
      log_.warn("target.cooldown", {{"target", outage.target},
                                    {"until", format_rfc3339(outage.until)},
                                    {"reason", outage.reason},
                                    {"of", outage.of_this_host ? "this host" : "all hosts"}});
  }
  for (const auto& blame : blames)
    if (!known_.contains({blame.org, blame.target})) locked_[{blame.org, blame.target}] = clock_.now() + kAfterLock;
  return {};
}

// What this host alone finds began no sooner than by its own clock: the database's may have been set since.
Timestamp TargetOutages::beginning_of(const Cooldown& known, const Finished& finished) const {
  if (!known.of_this_host) return known.since;
  const auto ended = host_time(finished.job, finished.finished_at);
  const auto unreached = answers_.unreached(known.org, known.target);  // none: it has answered since
  const auto lasted = unreached ? std::max(ended - unreached->since, Clock::Monotonic::duration{}) : Clock::Monotonic::duration{};
  return std::max(known.since, finished.finished_at - std::chrono::duration_cast<Micros>(lasted));
}

bool TargetOutages::is_own_finding(const Finished& finished) const {
  const auto known = cooldown_of(finished);
  return known && known->of_this_host && blames_target(*finished.outcome);
}

std::optional<Outage> TargetOutages::outage_of(const Finished& finished) const {
  if (finished.how != Finished::How::attempted || !blames_target(*finished.outcome)) return std::nullopt;
  const auto known = cooldown_of(finished);
  // Attempts of channels count during an outage too: an organisation should see soon that its destination is away. What only this
  // host cannot reach is not away.
  const Contract& contract = *finished.job.contract;
  const bool counts_all = contract.count_outages || (contract.is_of_channel() && !is_own_finding(finished));
  const Millis uncounted_for = counts_all ? Millis{0} : settings_.outage;
  if (known) return Outage{beginning_of(*known, finished), known->until, uncounted_for, known->of_this_host};
  return Outage{finished.job.outage_since.value_or(finished.finished_at), finished.finished_at, uncounted_for};
}

// A batch may have both an answer that blames its target and an attempt to which nothing came back.
std::optional<Cooldown> TargetOutages::cooldown_of(const Finished& finished) const {
  const auto known = known_.find(key_of(finished));
  if (known == known_.end()) return std::nullopt;
  return known->second.own && !finished.is_answered() ? known->second.own : known->second.shared;
}

void TargetOutages::remember(const Finished& finished, const Cooldown& cooldown) {
  Known& known = known_[key_of(finished)];
  (cooldown.of_this_host ? known.own : known.shared) = cooldown;
}

}  // namespace waybill
