// From what waits to findings.
#include "cli/work_rules.h"

#include <map>

#include "base/duration.h"
#include "cli/doctor_limits.h"

namespace waybill {
namespace {

using Level = Finding::Level;
using namespace doctor_limits;

std::string counted(std::int64_t count, std::int64_t most) {
  return count >= most ? std::to_string(most) + " or more" : std::to_string(count);
}

std::string whose(const std::string& org) { return org == "default" ? "" : " --org " + org; }

}  // namespace

Findings judge_outages(const std::vector<CoolingTarget>& targets, Millis outage) {
  Findings all;
  std::size_t channels = 0;
  for (const auto& target : targets) {
    if (target.target.starts_with("channel:")) {
      ++channels;
      continue;
    }
    const bool counts = target.began_ago >= outage;
    all.push_back({counts ? Level::problem : Level::warning, "outages",
                   target.target + " of organisation " + target.org + " is in an outage for " + age_text(target.began_ago) +
                       ": " + target.reason +
                       (all.size() + channels < kNamed ? "; " + counted(target.waiting, kMaxWaitingCounted) + " wait" : "") +
                       (counts ? ", and their attempts count (timeouts.outage)" : ""),
                   "mend the destination, then `waybill target resume " + target.target + whose(target.org) +
                       "` (docs/operations/outages.md)",
                   target.org + ":" + target.target});
  }
  if (all.empty()) all.push_back({Level::ok, "outages", "no target of the registry cools down", ""});
  if (channels > 0)
    all.push_back({Level::note, "channels", std::to_string(channels) + " channel(s) of organisations cool down", ""});
  else
    all.push_back({Level::ok, "channels", "none of the organisations' channels cools down", ""});
  return all;
}

Findings judge_pauses(const std::vector<PausedTarget>& targets) {
  Findings all;
  for (const auto& target : targets)
    all.push_back({Level::warning, "pauses",
                   target.target + " of organisation " + target.org + " is paused for " + age_text(target.began_ago) + " by " +
                       target.actor + ": " + target.reason +
                       (all.size() < kNamed ? "; " + counted(target.waiting, kMaxWaitingCounted) + " wait" : ""),
                   "when it may be sent to again: `waybill target resume " + target.target + whose(target.org) +
                       "` (docs/operations/outages.md#stop-sending)",
                   target.org + ":" + target.target});
  if (all.empty()) all.push_back({Level::ok, "pauses", "no target is paused", ""});
  return all;
}

Findings judge_rates(const std::vector<TargetRate>& rates) {
  Findings all;
  for (const auto& [name, order] : rates)
    all.push_back({Level::note, "rates",
                   name.target + " of organisation " + name.org + " has a rate of " + rate_text(order.rate) + ", given by " +
                       order.actor + " at " + format_rfc3339(order.since) +
                       (order.until ? ", until " + format_rfc3339(*order.until) : ", without an end") +
                       "; `waybill waiting rate --target " + name.target + whose(name.org) + " --clear` ends it",
                   "", name.org + ":" + name.target});
  if (all.empty()) all.push_back({Level::ok, "rates", "no target has a rate that an operator gave it", ""});
  return all;
}

Findings judge_lone_findings(const std::vector<LoneFinding>& findings) {
  Findings all;
  for (const auto& found : findings) {
    const auto since = " for " + age_text(found.began_ago);
    if (found.is_cut_off)
      all.push_back({Level::problem, "host reach", "host " + found.host + " reaches nothing" + since + ", while others do",
                     "mend its network (docs/operations/runbook.md#a-host-that-is-cut-off)", found.host});
    else
      all.push_back({Level::warning, "host reach",
                     "host " + found.host + " alone cannot reach " + found.target + since + ": " + found.reason,
                     "docs/operations/outages.md#a-host-that-cannot-reach-what-others-reach", found.host + " " + found.target});
  }
  if (all.empty()) all.push_back({Level::ok, "host reach", "every host reaches what others reach", ""});
  return all;
}

Findings judge_due(const WaitingWork& work, Millis stuck) {
  Findings all;
  for (const auto& [type, waited] : work.oldest_due) {
    if (waited < kDueWarning) continue;
    all.push_back({waited < stuck ? Level::warning : Level::problem, "oldest due",
                   "the oldest delivery of " + type + " that is due has waited for " + age_text(waited),
                   "`waybill explain ID` names the reason (docs/operations/runbook.md#stuck)", type});
  }
  if (all.empty())
    all.push_back({Level::ok, "oldest due", "nothing that is due waits for longer than " + format_duration(kDueWarning), ""});
  return all;
}

Finding judge_dead_letters(const WaitingWork& work) {
  if (work.dead_letters == 0) return {Level::ok, "dead letters", "none waits", ""};
  return {Level::warning, "dead letters",
          std::to_string(work.dead_letters) + " wait for somebody" +
              (work.oldest_dead_letter ? "; the oldest died " + age_text(*work.oldest_dead_letter) + " ago" : ""),
          "`waybill dead list`, then `waybill dead replay` (docs/operations/dead-letters.md)"};
}

Findings judge_incidents(const std::vector<OpenIncidents>& incidents) {
  Findings all;
  for (const auto& of_kind : incidents)
    all.push_back({Level::warning, "alerts",
                   std::to_string(of_kind.incidents) + " open incident(s) of kind " + of_kind.kind + ", the newest " +
                       age_text(of_kind.last_ago) + " ago: " + of_kind.words,
                   "docs/operations/runbook.md#" + of_kind.kind, of_kind.kind});
  if (all.empty()) all.push_back({Level::ok, "alerts", "no incident is open", ""});
  return all;
}

Findings judge_tokens(const std::vector<EndingToken>& tokens) {
  Findings all;
  for (const auto& token : tokens)
    all.push_back(
        {Level::warning, "tokens",
         "token \"" + token.name + "\" of organisation " + token.org + " ends in " + age_text(token.ends_in),
         "make its successor with `waybill token create`, and give it to whoever uses it (docs/operations/tokens.md#an-end)",
         token.org + ":" + token.name});
  if (all.empty()) all.push_back({Level::ok, "tokens", "none ends within " + age_text(kTokenWarning), ""});
  return all;
}

Findings judge_master_keys(const std::vector<LostKey>& lost) {
  std::map<std::string, std::size_t> channels;
  for (const auto& key : lost) channels[key.master] += key.channels;
  Findings all;
  for (const auto& [master, count] : channels)
    all.push_back({count > 0 ? Level::problem : Level::warning, "master keys",
                   "the master key " + master + " is not among those of notify.key: it seals the secrets of " +
                       std::to_string(count) + " channel(s), which wait unless a host has it",
                   "give notify.key the key, or see `waybill keys give-up` (docs/operations/runbook.md#secret_locked)", master});
  if (all.empty()) all.push_back({Level::ok, "master keys", "none that is in use is missing", ""});
  return all;
}

}  // namespace waybill
