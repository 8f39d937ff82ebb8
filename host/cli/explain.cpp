// `waybill explain`: why an intent, a form's submission or a delivery to a channel is where it is.
#include <nlohmann/json.hpp>

#include "api/json_answer.h"
#include "api/notify_explain.h"
#include "api/query.h"
#include "app/host_identity.h"
#include "base/printing.h"
#include "breadcrumbs/start_gate.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/living_hosts.h"
#include "domain/decide.h"
#include "services/secrets.h"
#include "store/notify_explain.h"
#include "store/pg_stores.h"
#include "store/sqlstate.h"

namespace waybill {
namespace {

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

std::string refused_files(const Catalogue& catalogue) {
  std::string text;
  for (const auto& refused : catalogue.refused()) text += "; " + refused.file + " is refused: " + refused.reason;
  return text;
}

std::string no_plugin(const Config& config, const Catalogue& catalogue, const std::string& action_type) {
  return "no plugin for action type " + action_type + " is loaded from " + config.plugins.string() + refused_files(catalogue);
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
  const auto nobody = why_nobody(e, s.action_type);
  if (nobody && nobody->code == "plugin_missing") return {nobody->code, nobody->text + refused_files(catalogue)};
  if (nobody && nobody->code == "switched_off") return *nobody;
  if (!is_told(e)) {  // what is on this machine is all that is known
    if (!catalogue.find(s.action_type)) return {"plugin_missing", no_plugin(config, catalogue, s.action_type)};
    if (const auto why = closed(config, catalogue, s.action_type); !why.empty()) return {"switched_off", why};
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
    return {"rate", since + ", but target " + s.target + " has a rate of " + rate_text(*s.rate) +
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

BlockedReason why_unfinished(const Explanation& e, const QueuePosition& s, const Config& config, const Catalogue& catalogue) {
  QueuePosition now = s;
  now.rate = rate_in_force(config, catalogue, s.target, s.rate);
  BlockedReason why = why_it_waits(e, now, config, catalogue);
  why.text += told_of_hosts(e, s);
  if (e.hosts == 0 && why.code != "no_host" && why.code != "host_dead") why.text += "; no host is running";
  const auto nobody = why_nobody(e, s.action_type);
  if (nobody && why.code != nobody->code && why.code != "claimed" && why.code != "host_dead")
    why.text += "; nobody would take it now: " + nobody->text;
  return why;
}

BlockedReason why(const Explanation& e, const Config& config, const Catalogue& catalogue) {
  const SubmissionView& intent = e.history.submission;
  if (e.positions.empty())
    return {"done", intent.state + (intent.reason.empty() ? "" : " (" + intent.reason + ")") + " at " +
                        format_rfc3339(intent.completed.value_or(intent.created)) + " after " +
                        std::to_string(e.history.attempts.size()) + " attempt(s)"};
  return why_unfinished(e, e.positions.front(), config, catalogue);
}

void print_attempts(const std::vector<AttemptView>& attempts, const char* indent) {
  for (const auto& a : attempts)
    print_text("%sattempt %u  %s  %s %s%s%s%s%s%s\n", indent, a.number, format_rfc3339(a.started).c_str(), a.outcome.c_str(),
               a.reason.c_str(), a.reason.empty() || a.error.empty() ? "" : ": ", a.error.c_str(),
               a.provider_ref.empty() ? "" : " the provider's id: ", a.provider_ref.c_str(), a.counts ? "" : " (does not count)");
}

void print_intent(const Explanation& e, const BlockedReason& reason) {
  const SubmissionView& intent = e.history.submission;
  print_text("%s: %s\n  target   %s\n  created  %s\n  why      %s\n", intent.client_ref.c_str(), intent.state.c_str(),
             intent.target.c_str(), format_rfc3339(intent.created).c_str(), reason.text.c_str());
  print_attempts(e.history.attempts, "  ");
}

Json json_of(const Explanation& e, const BlockedReason& reason) {
  const SubmissionView& intent = e.history.submission;
  Json json{{"intentId", intent.client_ref},
            {"status", intent.state},
            {"submissionTarget", intent.target},
            {"code", reason.code},
            {"why", reason.text}};
  json["attempts"] = e.history.attempts.size();
  json["history"] = attempts_json(e.history.attempts);
  if (!e.positions.empty()) json["nextAttemptAt"] = format_rfc3339(e.positions.front().due);
  return json;
}

// ---- submissions of forms ----

BlockedReason why_form(const FormView& view) {
  const SubmissionView& s = view.submission;
  const std::string until = view.kept_until ? format_rfc3339(*view.kept_until) : std::string();
  if (s.state == "received" && !view.finalized)
    return {"not_finalized", "waiting to be finalized; what is not by " + until + " is erased unsent"};
  if (s.state == "received") {
    std::string pending;
    for (const auto& attachment : view.attachments)
      if (attachment.scan == "pending") pending += (pending.empty() ? "" : ", ") + attachment.id;
    return {"waiting_for_scans", "waiting for the scan of " + pending + "; without it, it fails at " + until};
  }
  if (s.state == "processing") return {"running", "these actions have not ended"};
  return {"done", s.state + (s.reason.empty() ? "" : " (" + s.reason + ")") + " at " +
                      format_rfc3339(s.completed.value_or(s.created)) +
                      (s.reason == "action_failed" ? "; see waybill dead list --reference " + s.client_ref : "")};
}

// With the relay's or the gateway's own words.
Json deliveries_json(const FormView& view) {
  Json all = Json::array();
  for (const auto& delivery : view.deliveries)
    all.push_back({{"actionOrder", delivery.action_order},
                   {"actionType", delivery.action_type},
                   {"providerReference", delivery.provider_ref},
                   {"history", attempts_json(delivery.history)}});
  return all;
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
                       {"actions", std::move(list)},
                       {"deliveries", deliveries_json(view)}});
  }
  print_text("%s: %s\n  form     %s\n  created  %s\n  why      %s\n", s.client_ref.c_str(), s.state.c_str(), s.target.c_str(),
             format_rfc3339(s.created).c_str(), reason.text.c_str());
  for (const auto& [position, why] : actions)
    print_text("  action %d (%s)  %s\n", position.action_order, position.action_type.c_str(), why.text.c_str());
  for (const auto& delivery : view.deliveries) {
    if (delivery.history.empty()) continue;
    print_text("  attempts of action %d (%s)\n", delivery.action_order, delivery.action_type.c_str());
    print_attempts(delivery.history, "    ");
  }
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
  const auto catalogue = Catalogue::load(config.plugins, config.senders);
  if (*found && (*view)->submission.state == "processing")
    for (const auto& position : (*found)->positions)
      actions.emplace_back(position, why_unfinished(**found, position, config, *catalogue));
  print_form(options, **view, actions);
  return 0;
}

// ---- submissions of pipelines ----

BlockedReason why_pipeline(const PipelineView& view) {
  const SubmissionView& s = view.submission;
  if (view.blocked) {
    for (auto one = view.deliveries.rbegin(); one != view.deliveries.rend(); ++one)
      if (one->status == Status::rejected || one->status == Status::exhausted)
        return {"blocked", one->target + " in state " + one->state + " failed for good at " + format_rfc3339(*view.blocked) +
                               ": " + one->reason + (one->failures.empty() ? "" : "; last: " + one->failures.back().error) +
                               "; waybill dead show " + std::to_string(one->delivery.value) +
                               "; ways out: waybill dead replay, waybill pipeline rerun, skip or end"};
    return {"blocked", "blocked since " + format_rfc3339(*view.blocked) +
                           "; the alert pipeline_stuck says why; ways out: waybill pipeline rerun, skip or end"};
  }
  if (view.ended) return {"done", s.state + " since " + format_rfc3339(*view.ended)};
  std::string decisions;
  for (const auto& one : view.decisions)
    decisions += (decisions.empty() ? "" : ", ") + one.trigger + " (to " + one.to + ", role " + one.role + ")";
  const bool runs = std::any_of(view.deliveries.begin(), view.deliveries.end(),
                                [](const PipelineDeliveryView& one) { return !is_end(one.status); });
  if (runs) return {"running", "these actions have not ended"};
  if (!decisions.empty()) return {"waiting_for_people", "waiting for a decision: " + decisions};
  return {"stuck", "no transition is open"};
}

// The exit code; none when there is no such submission.
std::optional<int> explain_pipeline(const GlobalOptions& options, const Config& config, const Reading& reading,
                                    const std::string& id) {
  const auto shards = read_shards(reading.database.address);
  if (!shards) return failed(shards.error().what);
  const auto view = make_pipeline_store(reading.database.address, *shards)->find(reading.org, id);
  if (!view) return failed(view.error().what);
  if (!*view) return std::nullopt;
  const auto found = reading.store->explain(reading.org, "pipeline", id);
  if (!found) return failed(found.error().what);
  const auto catalogue = Catalogue::load(config.plugins, config.senders);
  const auto reason = why_pipeline(**view);
  const SubmissionView& s = (*view)->submission;
  Json actions = Json::array();
  if (!options.json)
    print_text("%s: %s\n  pipeline %s, version %d\n  created  %s\n  why      %s\n", s.client_ref.c_str(), s.state.c_str(),
               s.target.c_str(), (*view)->version, format_rfc3339(s.created).c_str(), reason.text.c_str());
  for (const auto& position : *found ? (*found)->positions : std::vector<QueuePosition>{}) {
    const auto why = why_unfinished(**found, position, config, *catalogue);
    if (!options.json) print_text("  %s (%s)  %s\n", position.target.c_str(), position.action_type.c_str(), why.text.c_str());
    actions.push_back({{"target", position.target},
                       {"actionType", position.action_type},
                       {"attempts", position.attempt_count},
                       {"code", why.code},
                       {"why", why.text}});
  }
  if (options.json)
    print_json({{"submissionId", s.client_ref},
                {"pipeline", s.target},
                {"status", s.state},
                {"code", reason.code},
                {"why", reason.text},
                {"actions", std::move(actions)}});
  return 0;
}

// ---- deliveries to channels ----

// Why nothing is sent to channels of this type here; "": it is.
std::string not_sent(const Config& config, const std::string& type) {
  const auto catalogue = Catalogue::load(config.plugins, config.senders);
  if (!catalogue->find(type)) return no_plugin(config, *catalogue, type);
  return closed(config, *catalogue, type);
}

// The exit code; none when there is no such delivery. Whoever may not read the secrets' files is not told whether one is locked.
std::optional<int> explain_notification(const GlobalOptions& options, const Config& config, const Reading& reading,
                                        const std::string& text) {
  const auto id = delivery_id(text);
  if (!id) return std::nullopt;
  const auto secrets = Secrets::resolve(config.secrets, config.file.string());
  const auto store =
      make_notify_store(reading.database.address, 1,
                        {.vault = secrets ? vault_of(*secrets, config.notify.key) : nullptr, .debounce = {}, .secret_grace = {}});
  const auto standing = store->standing(reading.org, *id);
  if (!standing && standing.error().kind == Error::Kind::not_found) return std::nullopt;
  if (!standing) return failed(standing.error().what);
  const auto reason = why_notification(*standing, {.per_org = config.limits.per_org_channels,
                                                   .per_channel = config.limits.per_channel,
                                                   .not_sent = not_sent(config, standing->channel_type),
                                                   .audience = Audience::installation});
  if (options.json)
    print_text("%s\n", explanation_json(*standing, reason).c_str());
  else
    print_text("%s: %s\n  channel  %s\n  created  %s\n  why      %s\n", text.c_str(), standing->view.status.c_str(),
               standing->view.channel.c_str(), format_rfc3339(standing->view.created).c_str(), reason.text.c_str());
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
  if (!found && is_lock_timeout(found.error()))
    return failed(
        "the database has no answer: another session holds a table locked that must be read (see "
        "docs/operations/database-errors.md)");
  if (!found) return failed(found.error().what);
  if (!*found) {
    auto code = explain_form(options, *config, *reading, id);
    if (!code) code = explain_pipeline(options, *config, *reading, id);
    if (!code) code = explain_notification(options, *config, *reading, id);
    return code ? *code
                : failed("organisation \"" + org + "\" has neither an intent nor a submission nor a delivery \"" + id + "\"");
  }
  const auto catalogue = Catalogue::load(config->plugins, config->senders);
  const BlockedReason reason = why(**found, *config, *catalogue);
  if (options.json) {
    print_json(json_of(**found, reason));
    return 0;
  }
  print_intent(**found, reason);
  if (!explain_form(options, *config, *reading, id)) explain_pipeline(options, *config, *reading, id);  // of the same id
  return 0;
}

}  // namespace waybill
