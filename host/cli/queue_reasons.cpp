// From what the queue, the hosts and the configuration say to one reason: the first that holds.
#include "cli/queue_reasons.h"

#include <algorithm>
#include <cstdio>

#include "app/host_identity.h"
#include "breadcrumbs/start_gate.h"
#include "domain/decide.h"

namespace waybill {
namespace {

std::string refused_files(const Catalogue& catalogue) {
  std::string text;
  for (const auto& refused : catalogue.refused()) text += "; " + refused.file + " is refused: " + refused.reason;
  return text;
}

std::string seconds(Micros length) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(length).count());
  return text;
}

std::string due_before(const QueuePosition& s) {
  if (s.due_before.value_or(0) == 0) return {};
  const std::string count = (*s.due_before >= kMaxDueBefore ? "at least " : "") + std::to_string(*s.due_before);
  return "; " + count + " of the same target " + (s.due_before == 1 ? "is" : "are") + " due before it";
}

// A limit that all hosts together have reached, if their limits are those of this machine's configuration; "" if there is none.
std::string why_capped(const Explanation& e, const QueuePosition& s, const Config& config, const Catalogue& catalogue) {
  const auto& limits = config.limits;
  const auto cap = [&](const std::string& whose, std::uint64_t in_flight, std::size_t limit, const char* key) {
    if (in_flight < limit * e.hosts) return std::string();
    return "due, but " + whose + " has its " + std::to_string(limit) + " deliveries under way on every host (limits." + key + ")";
  };
  std::string text = cap("target " + s.target, s.in_flight.of_target, limits.per_target, "per_target");
  if (text.empty()) text = cap("its organisation", s.in_flight.of_org, limits.per_org, "per_org");
  if (const auto* type = catalogue.find(s.action_type); text.empty() && type != nullptr && type->blocking)
    text =
        cap("the blocking plugin of " + s.action_type, s.in_flight.of_action_type, limits.blocking_workers, "blocking_workers");
  if (text.empty()) text = cap("the installation", s.in_flight.all, limits.in_flight - limits.reserve(), "in_flight");
  return text;
}

// Where answers come quickly, a host claims up to twice as many ahead: below that, this limit is no reason to wait.
std::string why_host_name_capped(const Explanation& e, const QueuePosition& s, const Config& config) {
  const auto limit = config.limits.per_host_name;
  if (s.in_flight.of_host_name < limit * e.hosts) return {};
  return "due, but " + (s.host_name.empty() ? "the forms of all organisations have" : "host name " + s.host_name + " has") +
         " at least the " + std::to_string(limit) + " deliveries under way that every host allows (limits.per_host_name)";
}

// The rate lets nothing start now, or work is due faster than it allows.
bool is_rate_limited(const Explanation& e, const QueuePosition& s) {
  if (!s.rate || !s.permits_until) return false;
  const Micros apart = std::chrono::duration_cast<Micros>(s.rate->per) / s.rate->count;
  if (*s.permits_until > e.now) return true;
  return s.due_before.value_or(0) > 0 && *s.permits_until > e.now - std::max<Micros>(Seconds(1), apart);
}

std::string who_ordered(const QueuePosition& s) {
  if (!s.ordered_rate) return {};
  return ", which " + s.ordered_rate->actor + " gave it " +
         (s.ordered_rate->until ? "until " + format_rfc3339(*s.ordered_rate->until) : "until it is cleared") +
         " (waybill waiting rate)";
}

BlockedReason why_it_waits(const Explanation& e, const QueuePosition& s, const Config& config, const Catalogue& catalogue) {
  const std::string next = "attempt " + std::to_string(s.attempt_count + 1);
  if (s.status == Status::waiting) return {"waiting_for_turn", "its turn comes when the action before it has been attempted"};
  if (s.status == Status::claimed && !s.claimer_lives)
    return {"host_dead", next + " was under way on host " + (s.claimed_by.empty() ? "(gone)" : s.claimed_by) +
                             ", which is dead; " +
                             (e.hosts > 0 ? "another host takes it back within about a second"
                                          : "no host is running: the first one that starts takes it back")};
  const auto silence = s.status == Status::claimed ? silence_of(e, s.claimed_by) : std::string();
  if (s.status == Status::claimed)
    return {"claimed", next + " is under way on host " + (s.claimed_by.empty() ? "(gone)" : s.claimed_by) +
                           (s.lease_until ? ", which has it until " + format_rfc3339(*s.lease_until) : "") +
                           (silence.empty() ? "" : ", but has said nothing for " + silence + ": it is stopped, or hangs")};
  if (s.pause)
    return {"target_paused", (s.pause->target == s.target ? "target " : "") + s.pause->target + " was paused at " +
                                 format_rfc3339(s.pause->since) + " by " + s.pause->actor + ": " + s.pause->reason +
                                 "; nothing is sent to it until `waybill target resume " + s.pause->target +
                                 "`, and its deadline runs on"};
  const auto nobody = why_nobody(e, s.action_type);
  if (nobody && nobody->code == "plugin_missing") return {nobody->code, nobody->text + refused_files(catalogue)};
  if (nobody && nobody->code == "switched_off") return *nobody;
  if (!is_told(e)) {  // what is on this machine is all that is known
    if (!catalogue.find(s.action_type)) return {"plugin_missing", no_plugin(config, catalogue, s.action_type)};
    if (const auto why = closed_here(config, catalogue, s.action_type); !why.empty()) return {"switched_off", why};
  }
  if (s.cooldown && s.cooldown->until > e.now)
    return {"target_rests", (s.cooldown->target == s.target ? "target " : "") + s.cooldown->target + " cools down until " +
                                format_rfc3339(s.cooldown->until) + " (" + seconds(s.cooldown->until - e.now) + " from now): " +
                                s.cooldown->reason + "; its outage began at " + format_rfc3339(s.cooldown->since)};
  if (s.lease_lost > 0)
    return {"suspect", next + " is made alone, by a process of its own, at " + format_rfc3339(std::max(s.due, e.now)) +
                           " or later: hosts died inside its plugin with it, or the plugin did not come back from it (" +
                           std::to_string(s.lease_lost) + " of " + std::to_string(kMaxLeasesLost) + ")"};
  if (s.due > e.now)
    return {"waiting",
            "waiting for its due time: " + next + " at " + format_rfc3339(s.due) + " (" + seconds(s.due - e.now) + " from now)"};
  if (e.hosts == 0) return {"no_host", "due since " + format_rfc3339(s.due) + ", but no host is running"};
  if (nobody) return {nobody->code, "due since " + format_rfc3339(s.due) + ", but nobody takes it: " + nobody->text};
  if (s.cooldown)
    return {"half_open", (s.cooldown->target == s.target ? "target " : "") + s.cooldown->target +
                             " has been in an outage since " + format_rfc3339(s.cooldown->since) + " (" + s.cooldown->reason +
                             "); its cooldown is over, and one delivery goes first to see whether it is back" + due_before(s)};
  if (const auto cap = why_capped(e, s, config, catalogue); !cap.empty()) return {"capped", cap + due_before(s)};
  const std::string since = "due since " + format_rfc3339(s.due) + " (" + seconds(e.now - s.due) + ")";
  if (is_rate_limited(e, s)) {
    const bool must_wait = *s.permits_until > e.now;
    return {"rate", since + ", but target " + s.target + " has a rate of " + rate_text(*s.rate) + who_ordered(s) +
                        (must_wait ? ", and its next delivery may start at " + format_rfc3339(*s.permits_until) : "") +
                        due_before(s)};
  }
  if (const auto cap = why_host_name_capped(e, s, config); !cap.empty()) return {"capped", cap + due_before(s)};
  if (const auto cap = why_no_room_for_bodies(e); !cap.empty()) return {"capped", cap + due_before(s)};
  return {"due", since + "; a host takes it as soon as it has room (" + std::to_string(s.in_flight.all) +
                     " deliveries are under way on " + std::to_string(e.hosts) + (e.hosts == 1 ? " host)" : " hosts)") +
                     due_before(s)};
}

// What holds up single hosts only.
std::string told_of_hosts(const Explanation& e, const QueuePosition& s) {
  std::string text;
  for (const auto& one : s.findings)
    text += "; host " + one.host + " alone finds no way to its target since " + format_rfc3339(one.since) + " (" + one.reason +
            "), and leaves it to others";
  for (const auto& host : e.cut_off) text += "; host " + host + " reaches no destination while others do, and claims nothing";
  return text;
}

}  // namespace

std::string closed_here(const Config& config, const Catalogue& catalogue, const std::string& action_type) {
  const auto folder = BreadcrumbFolder::open(breadcrumb_place(config));
  if (!folder) return {};  // another user's
  return StartGate(folder->get(), nullptr, [&](const std::string& type) { return plugin_file(config, catalogue, type); })
      .blocked_reason(action_type);
}

std::string no_plugin(const Config& config, const Catalogue& catalogue, const std::string& action_type) {
  return "no plugin for action type " + action_type + " is loaded from " + config.plugins.string() + refused_files(catalogue);
}

BlockedReason why_unfinished(const Explanation& e, const QueuePosition& position, const Config& config,
                             const Catalogue& catalogue) {
  QueuePosition now = position;
  if (!position.ordered_rate) now.rate = rate_in_force(config, catalogue, position.target, position.rate);
  BlockedReason why = why_it_waits(e, now, config, catalogue);
  why.text += told_of_hosts(e, position);
  if (e.hosts == 0 && why.code != "no_host" && why.code != "host_dead") why.text += "; no host is running";
  const auto nobody = why_nobody(e, position.action_type);
  if (nobody && why.code != nobody->code && why.code != "claimed" && why.code != "host_dead")
    why.text += "; nobody would take it now: " + nobody->text;
  return why;
}

}  // namespace waybill
