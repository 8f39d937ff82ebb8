// From a hang to the words of its alert.
#include "maintenance/hang_alerts.h"

#include <utility>

#include "domain/decide.h"
#include "maintenance/alert_text.h"

namespace waybill {
namespace {

constexpr Millis kEvery{500};
constexpr std::size_t kMaxWaiting = 100;  // while the database is away

std::string words_of(const std::string& host, const std::string& action_type, const std::string& plugin, const std::string& died,
                     const Job* job, Millis pause) {
  std::string words = died.empty() ? "the plugin of action type " + action_type + " did not come back on host " + host
                                   : "a process of the plugin " + plugin + " (action type " + action_type + ") on host " + host +
                                         " ended: " + died;
  if (job != nullptr) {
    words += died.empty() ? ", from delivery " : "; it was inside of delivery ";
    words += std::to_string(job->delivery.value) + " (" + job->kind + " " + job->client_ref + ") to " + job->contract->target +
             ", hang or death " + std::to_string(job->history.lease_lost + 1) + " of " + std::to_string(kMaxLeasesLost);
    words += job->contract->policy == Policy::one_shot && died.empty() ? "; it is not tried again" : "; it is tried alone next";
  }
  if (pause > Millis{0})
    words += "; the action type pauses on this host for " + std::to_string(std::chrono::ceil<Seconds>(pause).count()) +
             " s, then it is tried again";
  if (job != nullptr && job->org == kDefaultOrg)
    words += command("explain", job->kind == "notification" ? std::to_string(job->delivery.value) : job->client_ref);
  return words;
}

}  // namespace

void HangAlerts::note(const std::string& action_type, const std::string& plugin, const std::string& died, const Job* job,
                      Millis pause) {
  if (job != nullptr && job->kind == kAlertKind) return;  // never an alert about an alert
  const std::lock_guard lock(mutex_);
  if (waiting_.size() < kMaxWaiting)
    waiting_.push_back({job != nullptr ? job->org : kDefaultOrg, died.empty() ? "plugin_hung" : "plugin_crash", action_type,
                        words_of(host_, action_type, plugin, died, job, pause)});
}

Result<void> HangAlerts::raise(SuspectStore& store) {
  std::vector<Alert> alerts;
  {
    const std::lock_guard lock(mutex_);
    alerts.swap(waiting_);
  }
  for (auto alert = alerts.begin(); alert != alerts.end(); ++alert) {
    if (auto raised = store.raise_alert(alert->org, alert->kind, alert->about, alert->words); !raised) {
      const std::lock_guard lock(mutex_);
      waiting_.insert(waiting_.begin(), alert, alerts.end());
      return raised;
    }
  }
  return {};
}

PeriodicTask HangAlerts::task(SuspectStore& store) {
  return {"plugin_hangs", kEvery, [this, &store] { return raise(store); }};
}

}  // namespace waybill
