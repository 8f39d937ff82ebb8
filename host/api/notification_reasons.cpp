// The reasons, from the one that lasts to the one that passes by itself.
#include "api/notification_reasons.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json_answer.h"
#include "domain/channel.h"
#include "domain/decide.h"
#include "store/notifications/notification_standing.h"

namespace waybill {
namespace {

std::string at(Timestamp time) { return format_rfc3339(time); }
std::string number(std::uint64_t value) { return std::to_string(value); }

// Renewed four times in a lease: a living host's never comes to its last half.
bool is_silent(const NotificationStanding& s) {
  return !s.served_by.empty() && s.serves_until && s.now > *s.serves_until - (*s.serves_until - *s.serves_since) / 2;
}

NotificationReason while_silent(const NotificationStanding& s, bool is_operator) {
  const std::string due = "due since " + at(s.view.send_after) + ", but ";
  if (!is_operator) return {"host_silent", due + "what sends it does not answer; another takes over by itself", s.serves_until};
  return {"host_silent",
          due + "host " + s.served_by + " serves its organisation's channels and has shown no sign of life since " +
              at(*s.serves_since) + "; " +
              (s.hosts > 1 ? "another host takes over from " + at(*s.serves_until) + " on" : "no other host is running"),
          s.serves_until};
}

std::string end_of(const NotificationStanding& s) {
  const std::string when = at(s.view.send_after);  // of one that has ended: when it ended
  if (s.view.status == "succeeded") return "it was delivered at " + when + " by attempt " + number(s.view.attempts);
  if (s.reason == kChannelDeleted) return "it was cancelled at " + when + ": its channel was deleted, nothing was sent";
  if (s.reason == kChannelDisabled) return "it failed at " + when + ": its channel stayed disabled, nothing was sent";
  return (s.view.status == "cancelled" ? "it was cancelled at " : "it failed at ") + when +
         (s.reason.empty() ? "" : " (" + s.reason + ")") + " after " + number(s.view.attempts) + " attempt(s)";
}

NotificationReason while_claimed(const NotificationStanding& s, bool is_operator) {
  const std::string next = "attempt " + number(s.view.attempts + 1);
  const std::string host = s.claimed_by.empty() ? "(gone)" : s.claimed_by;
  if (s.claimer_lives)
    return {"claimed",
            next + " is under way" + (s.claimed ? " since " + at(*s.claimed) : "") +
                (is_operator ? " on host " + host + (s.lease_until ? ", which has it until " + at(*s.lease_until) : "") : ""),
            {}};
  if (!is_operator) return {"interrupted", next + " was interrupted; it begins anew by itself", {}};
  return {"interrupted",
          next + " was under way on host " + host + ", which is dead; " +
              (s.hosts > 0 ? "another host takes it back within about a second"
                           : "no host is running: the first one that starts takes it back"),
          {}};
}

// Of one that waits, whatever the time is.
std::optional<NotificationReason> obstacle(const NotificationStanding& s, const NotificationTerms& terms) {
  const bool is_operator = terms.audience == Audience::installation;
  const std::string turn = s.view.send_after > s.now ? "at its turn (" + at(s.view.send_after) + ")" : "within a moment";
  if (s.channel_deleted)
    return NotificationReason{
        "channel_deleted",
        "its channel was deleted at " + at(*s.channel_deleted) + ": it is cancelled " + turn + ", nothing is sent",
        s.view.send_after};
  if (s.channel_disabled)
    return NotificationReason{"channel_disabled",
                              "its channel is disabled since " + at(*s.channel_disabled) + " (" + s.disabled_reason +
                                  "): it waits until the channel is enabled; if that does not happen while deliveries are kept "
                                  "(retention.notifications), it fails, and nothing is sent",
                              {}};
  if (!terms.not_sent.empty())
    return NotificationReason{"not_sent",
                              is_operator ? terms.not_sent
                                          : "the installation sends nothing to channels of type " + s.channel_type +
                                                " now; it is sent when its operator has mended that",
                              {}};
  if (s.is_locked)
    return NotificationReason{
        "secret_locked",
        is_operator
            ? "no master key that notify.key names here opens its channel's secret: give it the one that does; if that is "
              "lost, `waybill keys give-up` gives the secret up"
            : "the installation cannot open its channel's secret now; it is sent when its operator "
              "has given the master key",
        {}};
  if (s.paused)
    return NotificationReason{"paused",
                              "the installation's operator has paused its channel since " + at(*s.paused) + " (" +
                                  s.pause_reason + "): it waits until the operator resumes it",
                              {}};
  if (s.cooldown)
    return NotificationReason{"cooldown",
                              "its channel cools down until " + at(s.cooldown->until) + ": " + s.cooldown->reason +
                                  "; its outage began at " + at(s.cooldown->since),
                              s.cooldown->until};
  return std::nullopt;
}

}  // namespace

NotificationReason why_notification(const NotificationStanding& s, const NotificationTerms& terms) {
  const std::string next = "attempt " + number(s.view.attempts + 1);
  const Timestamp due = s.view.send_after;
  if (s.view.status != "pending" && s.view.status != "processing") return {"done", end_of(s), {}};
  if (s.view.status == "processing") return while_claimed(s, terms.audience == Audience::installation);
  if (auto found = obstacle(s, terms)) return std::move(*found);
  if (due > s.now && s.is_open)
    return {"window_open", "its window is open until " + at(due) + "; each further event prolongs it", due};
  if (s.lease_lost > 0)
    return {"suspect",
            next + " is made apart from all others, at " + at(std::max(due, s.now)) + " or later: earlier ones broke off (" +
                number(s.lease_lost) + " of " + number(kMaxLeasesLost) + ")",
            {}};
  if (due > s.now && s.view.attempts > 0) return {"waiting_for_retry", "it waits for a retry: " + next + " at " + at(due), due};
  if (due > s.now) return {"waiting", "its turn is at " + at(due), due};
  if (s.hosts == 0) return {"no_host", "due since " + at(due) + ", but no host is running", {}};
  if (is_silent(s)) return while_silent(s, terms.audience == Audience::installation);
  const std::string server = terms.audience == Audience::installation && !s.served_by.empty()
                                 ? "; host " + s.served_by + " serves its organisation's channels"
                                 : "";
  const auto capped = [&](const char* whose, std::uint64_t under_way, std::size_t most, const char* key) {
    return NotificationReason{"capped",
                              "due since " + at(due) + ", but its " + whose + ' ' + number(under_way) +
                                  " deliveries under way, and may have " + number(most) + " (" + key + ")" + server,
                              {}};
  };
  if (s.under_way >= terms.per_org) return capped("organisation's channels have", s.under_way, terms.per_org, "notify.per_org");
  if (s.under_way_of_channel >= terms.per_channel)
    return capped("channel has", s.under_way_of_channel, terms.per_channel, "notify.per_channel");
  if (!s.rate.empty() && s.rate_until)
    return {"rate",
            "due since " + at(due) + ", but its channel's rate is " + s.rate + ": the next one goes at " + at(*s.rate_until),
            s.rate_until};
  return {"due", "due since " + at(due) + "; it is sent as soon as there is room" + server, {}};
}

std::string explanation_json(const NotificationStanding& s, const NotificationReason& reason, const PublicIds& ids) {
  return dump({{"id", ids.text(s.view.id.value)},
               {"status", s.view.status},
               {"attempt_count", s.view.attempts},
               {"code", reason.code},
               {"why", reason.text},
               {"until", time_or_null(reason.until)}});
}

}  // namespace waybill
