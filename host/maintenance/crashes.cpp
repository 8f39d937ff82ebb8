// From trails to blame, log, metric and alert.
#include "maintenance/crashes.h"

#include "domain/decide.h"
#include "domain/job.h"

namespace waybill {
namespace {

constexpr Millis kLookEvery{1'000};
constexpr std::chrono::minutes kForgotten{10};
constexpr std::chrono::seconds kRemindEvery{10};
constexpr std::chrono::hours kRemindApart{1};

std::string culprit(const Death::Inside& inside) {
  return "plugin " + inside.plugin + " (action type " + inside.action_type + ")";
}

}  // namespace

Crashes::Crashes(BreadcrumbFolder& folder, const Clock& clock, Log& log, Metrics& metrics)
    : folder_(folder), clock_(clock), log_(log), metrics_(metrics) {}

void Crashes::look() {
  const auto deaths = folder_.new_deaths();
  const std::lock_guard lock(mutex_);
  for (const auto& death : deaths) read(death);
}

void Crashes::read(const Death& death) {
  if (!death.same_boot) return;
  for (const auto& inside : death.inside) {
    if (inside.trail.delivery.value != 0)
      named_[inside.trail.delivery] = {inside, clock_.now()};
    else if (death.is_news)
      notify(inside, kDefaultOrg, "while it worked on no delivery");
  }
  if (!death.is_news) return;
  if (death.inside.empty())
    log_.warn("host.died_outside_plugins", {{"pid", death.pid}, {"signal", death.signal}, {"effect", "no delivery is blamed"}});
  if (death.switched_off.empty()) return;
  log_.error("plugin.switched_off", {{"action_type", death.switched_off},
                                     {"why", "hosts died in it"},
                                     {"remedy", "waybill plugin switch-on " + death.switched_off}});
}

void Crashes::notify(const Death::Inside& inside, OrgId org, const std::string& of) {
  metrics_.plugin_violation(inside.action_type, "crashed_host");
  log_.error("plugin.crashed", {{"plugin", inside.plugin},
                                {"action_type", inside.action_type},
                                {"delivery", inside.trail.delivery.value},
                                {"attempt", inside.trail.attempt},
                                {"deaths", inside.trail.delivery.value == 0 ? 1 : inside.trail.losses + 1}});
  alerts_.push_back({org, "plugin_crash", inside.action_type, "a host died inside " + culprit(inside) + ", " + of});
}

// Its death may be an earlier one, when this attempt was lost where no trail is seen.
std::map<DeliveryId, Crashes::NamedDelivery>::iterator Crashes::find(const OrphanedDelivery& lost) {
  const auto found = named_.find(lost.delivery);
  if (found == named_.end()) return found;
  const Trail& trail = found->second.inside.trail;
  const bool is_it = trail.attempt <= lost.history.attempt_count + 1 && trail.counted() == lost.history.counted() &&
                     trail.losses == lost.history.lease_lost;
  return is_it ? found : named_.end();
}

Blame Crashes::blame(const OrphanedDelivery& lost) {
  const std::lock_guard lock(mutex_);
  return find(lost) != named_.end() ? Blame::suspect : Blame::none;
}

void Crashes::written(const OrphanedDelivery& lost, const std::string& target) {
  const std::lock_guard lock(mutex_);
  const auto found = find(lost);
  if (found == named_.end()) return;
  const std::string of = "delivery " + std::to_string(lost.delivery.value) + " (" + lost.kind + " " + lost.client_ref + ") to " +
                         target + ", death " + std::to_string(lost.history.lease_lost + 1) + " of " +
                         std::to_string(kMaxLeasesLost);
  notify(found->second.inside, lost.org, of);
  if (lost.kind == kAlertKind) alerts_.pop_back();  // never an alert about an alert
  named_.erase(found);
}

PeriodicTask Crashes::task(SuspectStore& store) {
  return {"crashes", kLookEvery, [this, &store] { return report(store); }};
}

Result<void> Crashes::report(SuspectStore& store) {
  look();
  TRY(accuse(store));
  TRY(remind(store));
  return raise(store);
}

// As long as an action type is switched off, whoever switched it off and died.
Result<void> Crashes::remind(SuspectStore& store) {
  {
    const std::lock_guard lock(mutex_);
    if (clock_.now() < remind_at_) return {};
  }
  for (const auto& type : folder_.off()) {
    const std::string words = "action type " + type +
                              " is switched off on this machine: hosts died when it began, or in it without a delivery. Its "
                              "deliveries wait. Replace its plugin and restart, or, if that was not the cause, switch it on";
    TRY(store.remind(kDefaultOrg, "plugin_switched_off", type, words, kRemindApart));
  }
  const std::lock_guard lock(mutex_);
  remind_at_ = clock_.now() + kRemindEvery;
  return {};
}

Result<void> Crashes::raise(SuspectStore& store) {
  std::vector<Alert> alerts;
  {
    const std::lock_guard lock(mutex_);
    alerts.swap(alerts_);
  }
  for (auto alert = alerts.begin(); alert != alerts.end(); ++alert) {
    if (auto raised = store.raise_alert(alert->org, alert->kind, alert->about, alert->words); !raised) {
      const std::lock_guard lock(mutex_);
      alerts_.insert(alerts_.begin(), alert, alerts.end());
      return raised;
    }
  }
  return {};
}

Result<void> Crashes::accuse(SuspectStore& store) {
  std::map<DeliveryId, NamedDelivery> all;
  {
    const std::lock_guard lock(mutex_);
    all = named_;
  }
  for (const auto& [delivery, named] : all) {
    const Trail& trail = named.inside.trail;
    const auto accused = store.accuse({delivery, trail.attempt, trail.counted(), trail.losses}, suspect_delay(trail.losses + 1));
    TRY(accused);
    const std::lock_guard lock(mutex_);
    const auto found = named_.find(delivery);
    if (found == named_.end() || found->second.inside.trail != trail) continue;
    if (*accused == SuspectStore::Accusation::yes)
      notify(named.inside, kDefaultOrg,
             "delivery " + std::to_string(delivery.value) + ", death " + std::to_string(trail.losses + 1) + " of " +
                 std::to_string(kMaxLeasesLost));
    if (*accused != SuspectStore::Accusation::too_early || clock_.now() - named.since > kForgotten) named_.erase(found);
  }
  return {};
}

}  // namespace waybill
