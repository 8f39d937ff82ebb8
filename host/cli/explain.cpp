// `waybill explain`: why an intent is where it is.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

struct Why {
  std::string code;  // done, waiting, claimed, target_rests, plugin_missing, capped, no_host, due
  std::string text;
};

std::string seconds(Micros length) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(length).count());
  return text;
}

Why why_unfinished(const Explanation& e, const Standing& s, const Config& config, const Catalogue& catalogue) {
  const std::string next = "attempt " + std::to_string(s.attempt_count + 1);
  if (s.status == Status::claimed)
    return {"claimed", next + " is under way on host " + (s.claimed_by.empty() ? "(gone)" : s.claimed_by) +
                           (s.lease_until ? ", which has it until " + format_rfc3339(*s.lease_until) : "")};
  if (!catalogue.find(s.action_type)) {
    std::string text = "no plugin for action type " + s.action_type + " is loaded from " + config.plugins.string();
    for (const auto& refused : catalogue.refused()) text += "; " + refused.file + " is refused: " + refused.reason;
    return {"plugin_missing", text};
  }
  if (s.rest)
    return {"target_rests", "target " + s.target + " rests until " + format_rfc3339(s.rest->until) + " (" +
                                seconds(s.rest->until - e.now) + " from now): " + s.rest->reason};
  if (s.due > e.now)
    return {"waiting",
            "waiting for its due time: " + next + " at " + format_rfc3339(s.due) + " (" + seconds(s.due - e.now) + " from now)"};
  if (e.hosts == 0) return {"no_host", "due since " + format_rfc3339(s.due) + ", but no host is running"};
  if (s.claimed_of_target >= config.limits.per_target * e.hosts)
    return {"capped", "due, but target " + s.target + " has its " + std::to_string(config.limits.per_target) +
                          " deliveries under way on every host (limits.per_target)"};
  if (s.claimed_of_org >= config.limits.per_org * e.hosts)
    return {"capped", "due, but its organisation has its " + std::to_string(config.limits.per_org) +
                          " deliveries under way on every host (limits.per_org)"};
  return {"due",
          "due since " + format_rfc3339(s.due) + " (" + seconds(e.now - s.due) + "); a host takes it as soon as it has room"};
}

Why why(const Explanation& e, const Config& config, const Catalogue& catalogue) {
  const SubmissionView& intent = e.history.submission;
  if (e.standings.empty())
    return {"done", intent.state + (intent.reason.empty() ? "" : " (" + intent.reason + ")") + " at " +
                        format_rfc3339(intent.completed.value_or(intent.created)) + " after " +
                        std::to_string(e.history.attempts.size()) + " attempt(s)"};
  return why_unfinished(e, e.standings.front(), config, catalogue);
}

void print_text(const Explanation& e, const Why& reason) {
  const SubmissionView& intent = e.history.submission;
  std::printf("%s: %s\n  target   %s\n  created  %s\n  why      %s\n", intent.client_ref.c_str(), intent.state.c_str(),
              intent.target.c_str(), format_rfc3339(intent.created).c_str(), reason.text.c_str());
  for (const auto& a : e.history.attempts)
    std::printf("  attempt %u  %s  %s %s%s\n", a.number, format_rfc3339(a.started).c_str(), a.outcome.c_str(), a.reason.c_str(),
                a.error.c_str());
}

Json json_of(const Explanation& e, const Why& reason) {
  const SubmissionView& intent = e.history.submission;
  Json json{{"intentId", intent.client_ref},
            {"status", intent.state},
            {"submissionTarget", intent.target},
            {"code", reason.code},
            {"why", reason.text}};
  json["attempts"] = e.history.attempts.size();
  if (!e.standings.empty()) json["nextAttemptAt"] = format_rfc3339(e.standings.front().due);
  return json;
}

}  // namespace

int explain(const GlobalOptions& options, const std::string& org, const std::string& intent_id) {
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = quiet_log();
  const auto reading = open_reading(*config, org, log);
  if (!reading) return failed(reading.error().what);
  const auto found = reading->store->explain(reading->org, "intent", intent_id);
  if (!found) return failed(found.error().what);
  if (!*found) return failed("organisation \"" + org + "\" has no intent \"" + intent_id + "\"");
  const auto catalogue = Catalogue::load(config->plugins);
  const Why reason = why(**found, *config, *catalogue);
  if (options.json)
    print_json(json_of(**found, reason));
  else
    print_text(**found, reason);
  return 0;
}

}  // namespace waybill
