// Reserve, hand in, mark as sent: each step is a commit of its own, and each may be done again by anybody.
#include "maintenance/alerts.h"

#include <algorithm>

#include "domain/idempotency.h"
#include "domain/job.h"
#include "maintenance/alert_text.h"

namespace waybill {
namespace {

constexpr Millis kNotifyEvery{1'000};
constexpr Millis kStuckEvery{30'000};
constexpr Millis kDigestEvery{10'000};
constexpr std::size_t kMaxMessages = 20;  // in one quiet time; beyond it incidents are summed up
constexpr Millis kBetweenSummaries{60'000};
constexpr int kQuietTimesUntilClosed = 4;

// The first failure that maintenance shall hear of; the others were tried all the same.
void keep_first(Result<void>& first, Result<void> next) {
  if (first && !next) first = std::move(next);
}

}  // namespace

AlertNotifier::AlertNotifier(AlertStore& alerts, IntakeStore& intake, AlertNotifierSettings settings,
                             std::function<std::optional<Contract>()> target,
                             std::function<std::string(const std::string&)> blocked_reason, std::function<void()> wake, Log& log,
                             Metrics& metrics)
    : alerts_(alerts),
      intake_(intake),
      settings_(settings),
      target_(std::move(target)),
      blocked_reason_(std::move(blocked_reason)),
      wake_(std::move(wake)),
      log_(log),
      metrics_(metrics) {}

std::vector<PeriodicTask> AlertNotifier::tasks() {
  return {{"alerts", kNotifyEvery, [this] { return notify(); }},
          {"stuck_rows", std::min(kStuckEvery, settings_.stuck), [this] { return look_for_stuck(); }},
          {"failure_digest", std::min(kDigestEvery, settings_.digest_every), [this] { return digest_failures(); }}};
}

Result<void> AlertNotifier::notify() {
  const auto counts = alerts_.count_new();
  TRY(counts);
  for (const auto& [kind, count] : *counts) metrics_.alert(kind, count);
  const auto notifications = alerts_.notifications({.quiet = settings_.quiet,
                                                    .most_messages = kMaxMessages,
                                                    .between_summaries = std::min(kBetweenSummaries, settings_.quiet)});
  TRY(notifications);
  Result<void> all;
  for (const auto& notification : *notifications) keep_first(all, notify(notification));
  keep_first(all, alerts_.close(kQuietTimesUntilClosed * settings_.quiet));
  return all;
}

Result<void> AlertNotifier::notify(const Notification& notification) {
  const auto target = target_();
  if (target) TRY(hand_in(notification, *target));
  const auto mine = alerts_.mark_sent(notification.reference);
  TRY(mine);
  if (!*mine) return {};
  for (const auto& incident : notification.incidents)
    log_.warn("alert.raised", {{"incident", incident.name},
                               {"org", incident.org.value},
                               {"count", incident.count},
                               {"words", incident.words},
                               {"reference", idempotency_key(kDefaultOrg, kAlertKind, notification.reference, 1)},
                               {"target", target ? target->target : "none is configured (alerts.target)"}});
  return {};
}

// A conflict is no error: the words have changed since another host handed the same notification in.
Result<void> AlertNotifier::hand_in(const Notification& notification, const Contract& target) {
  const auto route = intake_.route(kDefaultOrg, target);
  TRY(route);
  NewSubmission item{.org = kDefaultOrg,
                     .kind = std::string(kAlertKind),
                     .pipeline = "intent",
                     .state = "pending",
                     .client_ref = notification.reference,
                     .target = target.target,
                     .cooldown_key = target.cooldown_key(),
                     .route = *route,
                     .payload = payload_of(text_of(notification)),
                     .payload_hash = {}};
  item.payload_hash = sha256(item.payload);
  const auto answers = intake_.submit(shard_for(item.org, item.client_ref, settings_.shards), {&item, 1}, std::nullopt);
  TRY(answers);
  if (answers->front().how == SubmitResult::How::created) wake_();
  return {};
}

Result<void> AlertNotifier::look_for_stuck() {
  const auto found = alerts_.stuck(settings_.stuck);
  TRY(found);
  Result<void> all;
  for (const auto& stuck : *found) {
    const bool deliveries = stuck.what == StuckWork::What::deliveries;
    const char* kind = deliveries ? "target:" : stuck.what == StuckWork::What::form ? "form:" : "scan:";
    keep_first(all, alerts_.remind(stuck.org, "stuck", kind + stuck.about,
                                   words_of(stuck, deliveries ? blocked_reason_(stuck.action_type) : ""), settings_.quiet));
  }
  return all;
}

Result<void> AlertNotifier::digest_failures() {
  const auto failures = alerts_.finished_failures();
  TRY(failures);
  Result<void> all;
  for (auto begin = failures->begin(); begin != failures->end();) {
    const auto end = std::find_if(begin, failures->end(),
                                  [&](const ProviderFailure& one) { return one.org != begin->org || one.until != begin->until; });
    const std::span period(begin, end);
    keep_first(all, alerts_.digest(period, format_rfc3339(begin->since).substr(0, 19) + "Z", words_of(period)));
    begin = end;
  }
  return all;
}

}  // namespace waybill
