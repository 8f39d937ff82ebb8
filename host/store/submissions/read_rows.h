// Helpers that several stores share: rows into values, values into parameters.
#pragma once

#include <string>

#include "domain/idempotency.h"
#include "store/forms/form_view.h"
#include "store/pg/pg.h"
#include "store/submissions/attempt_view.h"
#include "store/submissions/submission_view.h"

namespace waybill {

// The text form of a bytea.
inline std::string bytea(std::string_view bytes) { return "\\x" + to_hex(bytes); }

// Empty text is stored as null.
inline std::optional<std::string> null_if_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

// A submission's terms as parameters.
inline std::optional<std::string> micros_or_null(const std::optional<Timestamp>& time) {
  return time ? std::optional(std::to_string(time->micros)) : std::nullopt;
}
inline std::optional<std::string> not_before_of(const Terms& terms) {
  return terms ? micros_or_null(terms->not_before) : std::nullopt;
}
inline std::optional<std::string> expires_of(const Terms& terms) { return terms ? micros_or_null(terms->expires) : std::nullopt; }
inline std::optional<std::string> producer_of(const Terms& terms) {
  return terms ? null_if_empty(terms->producer) : std::nullopt;
}

// The columns `number`, `started`, `finished`, `outcome`, `reason`, `error`, `counts`, `code`, `provider_ref` and `maybe_sent`.
template <class OneRow>
AttemptView read_attempt(const OneRow& row) {
  return {.number = static_cast<std::uint32_t>(value_or_zero(row.number())),
          .started = value_or_zero(row.started()),
          .finished = row.finished(),
          .outcome = text_or_empty(row.outcome()),
          .reason = text_or_empty(row.reason()),
          .error = text_or_empty(row.error()),
          .counts = value_or_zero(row.counts()),
          .code = static_cast<std::int32_t>(value_or_zero(row.code())),
          .provider_ref = text_or_empty(row.provider_ref()),
          .maybe_sent = row.maybe_sent()};
}

// The columns `delivery_id`, `action_order`, `replay`, `action_type`, `status`, `reason`, `attempts`, `provider_ref`, `result`,
// `due` and `ended`.
template <class OneRow>
ActionDeliveryView read_action_delivery(const OneRow& row) {
  return {.delivery = {row.delivery_id()},
          .action_order = static_cast<int>(row.action_order()),
          .replay = static_cast<int>(row.replay()),
          .action_type = text_or_empty(row.action_type()),
          .status = status_from(text_or_empty(row.status())).value_or(Status::due),
          .reason = text_or_empty(row.reason()),
          .attempts = static_cast<std::uint32_t>(value_or_zero(row.attempts())),
          .provider_ref = text_or_empty(row.provider_ref()),
          .result = text_or_empty(row.result()),
          .due = row.due(),
          .ended = row.ended()};
}

// The columns of audit_of: `action`, `from_state`, `to_state`, `trigger`, `actor`, `actor_type`, `metadata`, `created`,
// `edited_field`, `before` and `after`.
template <class OneRow>
AuditView read_audit_event(const OneRow& row) {
  return {.action = text_or_empty(row.action()),
          .from_state = text_or_empty(row.from_state()),
          .to_state = text_or_empty(row.to_state()),
          .trigger = text_or_empty(row.trigger()),
          .actor = text_or_empty(row.actor()),
          .actor_type = text_or_empty(row.actor_type()),
          .metadata = text_or_empty(row.metadata()),
          .created = row.created(),
          .edited_field = text_or_empty(row.edited_field()),
          .before = text_or_empty(row.before()),
          .after = text_or_empty(row.after())};
}

// The columns `id`, `org_id`, `client_ref`, `target`, `state`, `reason`, `created`, `completed` and `terms`.
template <class OneRow>
SubmissionView read_submission(const OneRow& row) {
  return {.id = {value_or_zero(row.id())},
          .org = {value_or_zero(row.org_id())},
          .client_ref = text_or_empty(row.client_ref()),
          .target = text_or_empty(row.target()),
          .state = text_or_empty(row.state()),
          .reason = text_or_empty(row.reason()),
          .created = value_or_zero(row.created()),
          .completed = row.completed(),
          .terms = row.terms() ? terms_from(*row.terms()) : nullptr};
}

}  // namespace waybill
