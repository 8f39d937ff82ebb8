// `waybill explain`: why an intent, a form's submission or a delivery to a channel is where it is.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json_answer.h"
#include "api/notification_reasons.h"
#include "api/query.h"
#include "base/printing.h"
#include "cli/commands.h"
#include "cli/database_command.h"
#include "cli/json_output.h"
#include "cli/queue_reasons.h"
#include "services/secrets.h"
#include "store/notifications/notification_standing.h"
#include "store/pg/sqlstate.h"

namespace waybill {
namespace {

// Whatever is read: a lock of somebody else's is told in words.
int unread(const Error& error) {
  return failed(is_lock_timeout(error)
                    ? "the database has no answer: another session holds a table locked that must be read (see "
                      "docs/operations/database-errors.md)"
                    : error.what);
}

BlockedReason why(const Explanation& e, const Config& config, const Catalogue& catalogue) {
  const SubmissionView& intent = e.history.submission;
  if (e.positions.empty())
    return {"done", intent.state + (intent.reason.empty() ? "" : " (" + intent.reason + ")") + " at " +
                        format_rfc3339(intent.completed.value_or(intent.created)) + " after " +
                        std::to_string(e.history.attempts.size()) + " attempt(s)"};
  return why_unfinished(e, e.positions.front(), config, catalogue);
}

void print_heading(const std::string& id, const std::string& state) {
  print_text(Ink::bold, "%s: %s\n", id.c_str(), state.c_str());
}

void print_attempts(const std::vector<AttemptView>& attempts, const char* indent) {
  for (const auto& a : attempts)
    print_text("%sattempt %u  %s  %s %s%s%s%s%s%s\n", indent, a.number, format_rfc3339(a.started).c_str(), a.outcome.c_str(),
               a.reason.c_str(), a.reason.empty() || a.error.empty() ? "" : ": ", a.error.c_str(),
               a.provider_ref.empty() ? "" : " the provider's id: ", a.provider_ref.c_str(), a.counts ? "" : " (does not count)");
}

void print_intent(const Explanation& e, const BlockedReason& reason) {
  const SubmissionView& intent = e.history.submission;
  print_heading(intent.client_ref, intent.state);
  print_text("  target   %s\n  created  %s\n  why      %s\n", intent.target.c_str(), format_rfc3339(intent.created).c_str(),
             reason.text.c_str());
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

// With the relay's or the gateway's own words. `name` adds what else a delivery is called by.
template <class Deliveries, class Name>
Json deliveries_json(const Deliveries& deliveries, Name name) {
  Json all = Json::array();
  for (const auto& delivery : deliveries) {
    Json one{{"actionOrder", delivery.action_order},
             {"actionType", delivery.action_type},
             {"providerReference", delivery.provider_ref},
             {"history", attempts_json(delivery.history)}};
    name(delivery, one);
    all.push_back(std::move(one));
  }
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
                       {"deliveries", deliveries_json(view.deliveries, [](const auto&, Json&) {})}});
  }
  print_heading(s.client_ref, s.state);
  print_text("  form     %s\n  created  %s\n  why      %s\n", s.target.c_str(), format_rfc3339(s.created).c_str(),
             reason.text.c_str());
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
  const auto view = make_form_store(reading.database.address, reading.shards, config.kept_forms)->find(reading.org, id);
  if (!view) return unread(view.error());
  if (!*view) return std::nullopt;
  const auto found = reading.store->explain(reading.org, "form", id);
  if (!found) return unread(found.error());
  std::vector<std::pair<QueuePosition, BlockedReason>> actions;
  const auto catalogue = Catalogue::load(config.plugin_folders(), config.senders, config.isolations);
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

void print_deliveries(const std::vector<PipelineDeliveryView>& deliveries) {
  for (const auto& delivery : deliveries) {
    if (delivery.history.empty()) continue;
    print_text("  attempts of %s in state %s\n", delivery.target.c_str(), delivery.state.c_str());
    print_attempts(delivery.history, "    ");
  }
}

// The exit code; none when there is no such submission.
std::optional<int> explain_pipeline(const GlobalOptions& options, const Config& config, const Reading& reading,
                                    const std::string& id) {
  const auto view = make_pipeline_store(reading.database.address, reading.shards)->find(reading.org, id);
  if (!view) return unread(view.error());
  if (!*view) return std::nullopt;
  const auto found = reading.store->explain(reading.org, "pipeline", id);
  if (!found) return unread(found.error());
  const auto catalogue = Catalogue::load(config.plugin_folders(), config.senders, config.isolations);
  const auto reason = why_pipeline(**view);
  const SubmissionView& s = (*view)->submission;
  Json actions = Json::array();
  if (!options.json) {
    print_heading(s.client_ref, s.state);
    print_text("  pipeline %s, version %d\n  created  %s\n  why      %s\n", s.target.c_str(), (*view)->version,
               format_rfc3339(s.created).c_str(), reason.text.c_str());
  }
  for (const auto& position : *found ? (*found)->positions : std::vector<QueuePosition>{}) {
    const auto why = why_unfinished(**found, position, config, *catalogue);
    if (!options.json) print_text("  %s (%s)  %s\n", position.target.c_str(), position.action_type.c_str(), why.text.c_str());
    actions.push_back({{"target", position.target},
                       {"actionType", position.action_type},
                       {"attempts", position.attempt_count},
                       {"code", why.code},
                       {"why", why.text}});
  }
  if (!options.json) {
    print_deliveries((*view)->deliveries);
    return 0;
  }
  print_json({{"submissionId", s.client_ref},
              {"pipeline", s.target},
              {"status", s.state},
              {"code", reason.code},
              {"why", reason.text},
              {"actions", std::move(actions)},
              {"deliveries", deliveries_json((*view)->deliveries, [](const PipelineDeliveryView& delivery, Json& json) {
                 json["state"] = delivery.state;
                 json["target"] = delivery.target;
               })}});
  return 0;
}

// ---- deliveries to channels ----

// Why nothing is sent to the channel now; "": it is. The host that serves its organisation's channels counts, or else all: by
// what they say of themselves, not by what is on this machine.
Result<std::string> not_sent(const Config& config, ReadStore& reader, const NotificationStanding& standing) {
  auto living = reader.living_hosts();
  TRY(living);
  Explanation e{.history = {}, .now = standing.now, .positions = {}, .hosts = standing.hosts};
  const auto serves = [&](const LivingHost& host) { return host.name == standing.served_by; };
  const bool is_served = std::any_of(living->begin(), living->end(), serves);
  for (auto& host : *living)
    if (!is_served || serves(host)) e.living.push_back(std::move(host));
  if (is_told(e)) {
    const auto nobody = why_nobody(e, standing.channel_type);
    return nobody && nobody->code != "host_silent" ? nobody->text : std::string();
  }
  const auto catalogue = Catalogue::load(config.plugin_folders(), config.senders, config.isolations);
  if (!catalogue->find(standing.channel_type)) return no_plugin(config, *catalogue, standing.channel_type);
  return closed_here(config, *catalogue, standing.channel_type);
}

// The exit code; none when there is no such delivery. Whoever may not read the secrets' files is not told whether one is locked.
std::optional<int> explain_notification(const GlobalOptions& options, const Config& config, const Reading& reading,
                                        const std::string& text) {
  const auto ids = ids_in_commands(reading.database.address);
  const auto id = delivery_id(text, ids);
  if (!id) return std::nullopt;
  const auto secrets = Secrets::resolve(config.secrets, config.file.string());
  const auto store =
      make_notify_store(reading.database.address, 1,
                        {.vault = secrets ? vault_of(*secrets, config.notify.key) : nullptr, .debounce = {}, .secret_grace = {}});
  const auto standing = store->standing(reading.org, *id);
  if (!standing && standing.error().kind == Error::Kind::not_found) return std::nullopt;
  if (!standing) return unread(standing.error());
  const auto obstacle = not_sent(config, *reading.store, *standing);
  if (!obstacle) return unread(obstacle.error());
  const auto reason = why_notification(*standing, {.per_org = config.limits.per_org_channels,
                                                   .per_channel = config.limits.per_channel,
                                                   .not_sent = *obstacle,
                                                   .audience = Audience::installation});
  if (options.json) {
    print_text("%s\n", explanation_json(*standing, reason, text == ids.text(id->value) ? ids : PublicIds{}).c_str());
    return 0;
  }
  print_heading(text, standing->view.status);
  print_text("  channel  %s\n  created  %s\n  why      %s\n", standing->view.channel.c_str(),
             format_rfc3339(standing->view.created).c_str(), reason.text.c_str());
  return 0;
}

}  // namespace

int explain(const GlobalOptions& options, const std::string& org, const std::string& id) {
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = quiet_log();
  const auto reading = open_reading(*config, org, log);
  if (!reading) return unread(reading.error());
  const auto found = reading->store->explain(reading->org, "intent", id);
  if (!found) return unread(found.error());
  if (!*found) {
    auto code = explain_form(options, *config, *reading, id);
    if (!code) code = explain_pipeline(options, *config, *reading, id);
    if (!code) code = explain_notification(options, *config, *reading, id);
    return code ? *code
                : failed("organisation \"" + org + "\" has neither an intent nor a submission nor a delivery \"" + id + "\"");
  }
  const auto catalogue = Catalogue::load(config->plugins, config->senders, config->isolations);
  const BlockedReason reason = why(**found, *config, *catalogue);
  if (options.json) {
    print_json(json_of(**found, reason));
    return 0;
  }
  print_intent(**found, reason);
  auto code = explain_form(options, *config, *reading, id);  // of the same id
  if (!code) code = explain_pipeline(options, *config, *reading, id);
  return code.value_or(0);
}

}  // namespace waybill
