// Asks the form pipeline.
#include "domain/form_pipeline.h"

#include "domain/builtin_pipelines.h"
#include "domain/pipeline_step.h"

namespace waybill {
namespace {

constexpr std::string_view kReceived = "received", kProcessing = "processing", kFailed = "failed";
constexpr std::string_view kInfected = "infected_attachment";

const Pipeline& form() { return builtin_pipeline("form"); }

std::string submission_text(std::string_view client_ref, std::string_view form_id) {
  return "form submission " + std::string(client_ref) + " of " + std::string(form_id);
}

}  // namespace

Readiness readiness_of(bool finalized, const ScanCounts& scans) {
  Facts facts;
  facts.set("/form/finalized", finalized ? "true" : "false");
  facts.set("/attachments/worst", scans.infected > 0                ? "\"infected\""
                                  : scans.clean < scans.attachments ? "\"pending\""
                                                                    : "\"clean\"");
  const auto step = next_step(form(), *form().find(kReceived), {}, facts);
  if (step.kind != NextStep::Kind::move) return Readiness::wait;
  return step.transition->to == kProcessing ? Readiness::run : Readiness::infected;
}

std::string fault_in_retention(Timestamp kept_until, Timestamp now) {
  if (kept_until > now) return "";
  return "retentionExpiresAt is past: " + format_rfc3339(kept_until) + " is not after " + format_rfc3339(now);
}

FormStep next_form_step(std::span<const ActionState> actions, Timestamp now) {
  std::vector<ActionRun> runs;
  for (const auto& action : actions)
    runs.push_back({.action = runs.size(),
                    .status = action.status == Status::waiting ? std::nullopt : std::optional(action.status),
                    .was_attempted = action.attempts > 0 || (action.status == Status::due && now - action.due >= kTurn)});
  const auto step = next_step(form(), *form().find(kProcessing), runs, Facts());
  if (step.kind == NextStep::Kind::run) return {actions[step.actions.front()].delivery, {}};
  if (step.kind == NextStep::Kind::move) return {std::nullopt, step.transition->to};
  return {};
}

const PipelineTransition& end_of_form(std::string_view state) {
  return builtin_transition("form", kProcessing, "all_actions_ended", state);
}

const PipelineTransition& form_infected() { return builtin_transition("form", kReceived, "scan_result", kFailed); }
const PipelineTransition* form_overdue(std::string_view state) {
  if (state != kReceived && state != kProcessing) return nullptr;
  return &builtin_transition("form", state, "retention", kFailed);
}
const PipelineTransition& form_purged(std::string_view state) {
  return builtin_transition("form", state, "retention", kFormPurged);
}

FormAlert infected_alert(std::string_view client_ref, std::string_view form_id) {
  return {kInfected, std::string(form_id),
          submission_text(client_ref, form_id) + " has an infected attachment; nothing of it was sent"};
}

FormAlert infected_too_late_alert(std::string_view client_ref, std::string_view form_id) {
  return {kInfected, std::string(form_id) + ":late",
          submission_text(client_ref, form_id) +
              " has an attachment that was found infected when its actions were under way or done"};
}

FormAlert dropped_alert(std::string_view client_ref, std::string_view form_id, std::string_view actions,
                        std::string_view unscanned) {
  std::string text = submission_text(client_ref, form_id) + " was dropped: its retention ended before ";
  text += unscanned.empty() ? "these actions did: " + std::string(actions)
                            : "these attachments were scanned, and nothing of it was sent: " + std::string(unscanned);
  return {"retention_expired", std::string(form_id), std::move(text)};
}

}  // namespace waybill
