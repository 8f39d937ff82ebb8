// `waybill explain`: why an intent or a form's submission is where it is.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/host_identity.h"
#include "breadcrumbs/start_gate.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "domain/decide.h"
#include "store/forms.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

struct BlockedReason {
  // done, waiting, claimed, host_dead, target_rests, plugin_missing, switched_off, suspect, capped, no_host, due; of a form's
  // submission also not_finalized, waiting_for_scans, running, and of its actions waiting_for_turn
  std::string code;
  std::string text;
};

std::string seconds(Micros length) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(length).count());
  return text;
}

// Why this machine's hosts do not run it; "" if they do.
std::string closed(const Config& config, const Catalogue& catalogue, const std::string& action_type) {
  const auto folder = BreadcrumbFolder::open(breadcrumb_place(config));
  if (!folder) return {};  // another user's
  return StartGate(folder->get(), nullptr, [&](const std::string& type) { return plugin_file(config, catalogue, type); })
      .blocked_reason(action_type);
}

BlockedReason why_it_waits(const Explanation& e, const QueuePosition& s, const Config& config, const Catalogue& catalogue) {
  const std::string next = "attempt " + std::to_string(s.attempt_count + 1);
  if (s.status == Status::waiting) return {"waiting_for_turn", "its turn comes when the action before it has been attempted"};
  if (s.status == Status::claimed && !s.claimer_lives)
    return {"host_dead", next + " was under way on host " + (s.claimed_by.empty() ? "(gone)" : s.claimed_by) +
                             ", which is dead; " +
                             (e.hosts > 0 ? "another host takes it back within about a second"
                                          : "no host is running: the first one that starts takes it back")};
  if (s.status == Status::claimed)
    return {"claimed", next + " is under way on host " + (s.claimed_by.empty() ? "(gone)" : s.claimed_by) +
                           (s.lease_until ? ", which has it until " + format_rfc3339(*s.lease_until) : "")};
  if (!catalogue.find(s.action_type)) {
    std::string text = "no plugin for action type " + s.action_type + " is loaded from " + config.plugins.string();
    for (const auto& refused : catalogue.refused()) text += "; " + refused.file + " is refused: " + refused.reason;
    return {"plugin_missing", text};
  }
  if (const auto why = closed(config, catalogue, s.action_type); !why.empty()) return {"switched_off", why};
  if (s.cooldown)
    return {"target_rests", (s.cooldown->target == s.target ? "target " : "") + s.cooldown->target + " cools down until " +
                                format_rfc3339(s.cooldown->until) + " (" + seconds(s.cooldown->until - e.now) + " from now): " +
                                s.cooldown->reason + "; its outage began at " + format_rfc3339(s.cooldown->since)};
  if (s.lease_lost > 0)
    return {"suspect", next + " is made alone, by a process of its own, at " + format_rfc3339(std::max(s.due, e.now)) +
                           " or later: hosts died inside its plugin with it (" + std::to_string(s.lease_lost) + " of " +
                           std::to_string(kMaxLeasesLost) + ")"};
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

BlockedReason why_unfinished(const Explanation& e, const QueuePosition& s, const Config& config, const Catalogue& catalogue) {
  BlockedReason why = why_it_waits(e, s, config, catalogue);
  if (e.hosts == 0 && why.code != "no_host" && why.code != "host_dead") why.text += "; no host is running";
  return why;
}

BlockedReason why(const Explanation& e, const Config& config, const Catalogue& catalogue) {
  const SubmissionView& intent = e.history.submission;
  if (e.standings.empty())
    return {"done", intent.state + (intent.reason.empty() ? "" : " (" + intent.reason + ")") + " at " +
                        format_rfc3339(intent.completed.value_or(intent.created)) + " after " +
                        std::to_string(e.history.attempts.size()) + " attempt(s)"};
  return why_unfinished(e, e.standings.front(), config, catalogue);
}

void print_text(const Explanation& e, const BlockedReason& reason) {
  const SubmissionView& intent = e.history.submission;
  std::printf("%s: %s\n  target   %s\n  created  %s\n  why      %s\n", intent.client_ref.c_str(), intent.state.c_str(),
              intent.target.c_str(), format_rfc3339(intent.created).c_str(), reason.text.c_str());
  for (const auto& a : e.history.attempts)
    std::printf("  attempt %u  %s  %s %s%s%s\n", a.number, format_rfc3339(a.started).c_str(), a.outcome.c_str(), a.reason.c_str(),
                a.error.c_str(), a.counts ? "" : " (does not count)");
}

Json json_of(const Explanation& e, const BlockedReason& reason) {
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

// ---- submissions of forms ----

BlockedReason why_form(const FormView& view) {
  const SubmissionView& s = view.submission;
  if (s.state == "received" && !view.finalized) return {"not_finalized", "waiting to be finalized"};
  if (s.state == "received") {
    std::string pending;
    for (const auto& attachment : view.attachments)
      if (attachment.scan == "pending") pending += (pending.empty() ? "" : ", ") + attachment.id;
    return {"waiting_for_scans", "waiting for the scan of " + pending};
  }
  if (s.state == "processing") return {"running", "these actions have not ended"};
  return {"done", s.state + (s.reason.empty() ? "" : " (" + s.reason + ")") + " at " +
                      format_rfc3339(s.completed.value_or(s.created)) +
                      (s.reason == "action_failed" ? "; see waybill dead list --reference " + s.client_ref : "")};
}

void print_form(const GlobalOptions& options, const FormView& view,
                const std::vector<std::pair<QueuePosition, BlockedReason>>& actions) {
  const SubmissionView& s = view.submission;
  const BlockedReason reason = why_form(view);
  if (options.json) {
    Json list = Json::array();
    for (const auto& [position, why] : actions)
      list.push_back({{"actionOrder", position.action_order},
                      {"actionType", position.action_type},
                      {"attempts", position.attempt_count},
                      {"code", why.code},
                      {"why", why.text}});
    return print_json({{"submissionId", s.client_ref},
                       {"status", s.state},
                       {"formId", s.target},
                       {"code", reason.code},
                       {"why", reason.text},
                       {"actions", std::move(list)}});
  }
  std::printf("%s: %s\n  form     %s\n  created  %s\n  why      %s\n", s.client_ref.c_str(), s.state.c_str(), s.target.c_str(),
              format_rfc3339(s.created).c_str(), reason.text.c_str());
  for (const auto& [position, why] : actions)
    std::printf("  action %d (%s)  %s\n", position.action_order, position.action_type.c_str(), why.text.c_str());
}

// The exit code; none when there is no such submission.
std::optional<int> explain_form(const GlobalOptions& options, const Config& config, const Reading& reading,
                                const std::string& id) {
  const auto shards = read_shards(reading.database.address);
  if (!shards) return failed(shards.error().what);
  const auto view = make_form_store(reading.database.address, *shards, config.kept_forms)->find(reading.org, id);
  if (!view) return failed(view.error().what);
  if (!*view) return std::nullopt;
  const auto found = reading.store->explain(reading.org, "form", id);
  if (!found) return failed(found.error().what);
  std::vector<std::pair<QueuePosition, BlockedReason>> actions;
  const auto catalogue = Catalogue::load(config.plugins);
  if (*found && (*view)->submission.state == "processing")
    for (const auto& position : (*found)->standings)
      actions.emplace_back(position, why_unfinished(**found, position, config, *catalogue));
  print_form(options, **view, actions);
  return 0;
}

}  // namespace

int explain(const GlobalOptions& options, const std::string& org, const std::string& id) {
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = quiet_log();
  const auto reading = open_reading(*config, org, log);
  if (!reading) return failed(reading.error().what);
  const auto found = reading->store->explain(reading->org, "intent", id);
  if (!found) return failed(found.error().what);
  if (!*found) {
    const auto code = explain_form(options, *config, *reading, id);
    return code ? *code : failed("organisation \"" + org + "\" has neither an intent nor a submission \"" + id + "\"");
  }
  const auto catalogue = Catalogue::load(config->plugins);
  const BlockedReason reason = why(**found, *config, *catalogue);
  if (options.json)
    print_json(json_of(**found, reason));
  else
    print_text(**found, reason);
  return 0;
}

}  // namespace waybill
