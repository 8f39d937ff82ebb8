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

inline std::string text_of(const Rows& rows, std::size_t row, int column) { return std::string(rows.text(row, column)); }
inline std::optional<Timestamp> time_of(const Rows& rows, std::size_t row, int column) {
  return rows.is_null(row, column) ? std::nullopt : std::optional(rows.time(row, column));
}

// Ten columns from `first` on: number, started, finished, outcome, reason, error, counts, code, reference, maybe sent.
inline AttemptView read_attempt(const Rows& rows, std::size_t row, int first) {
  return {.number = static_cast<std::uint32_t>(rows.number(row, first)),
          .started = rows.time(row, first + 1),
          .finished = time_of(rows, row, first + 2),
          .outcome = text_of(rows, row, first + 3),
          .reason = text_of(rows, row, first + 4),
          .error = text_of(rows, row, first + 5),
          .counts = rows.flag(row, first + 6),
          .code = static_cast<std::int32_t>(rows.number(row, first + 7)),
          .provider_ref = text_of(rows, row, first + 8),
          .maybe_sent = rows.is_null(row, first + 9) ? std::nullopt : std::optional(rows.flag(row, first + 9))};
}

// Columns 0 to 10 of form_deliveries_of and pipeline_deliveries_of.
inline ActionDeliveryView read_action_delivery(const Rows& rows, std::size_t row) {
  return {.delivery = {rows.number(row, 0)},
          .action_order = static_cast<int>(rows.number(row, 1)),
          .replay = static_cast<int>(rows.number(row, 2)),
          .action_type = text_of(rows, row, 3),
          .status = status_from(rows.text(row, 4)).value_or(Status::due),
          .reason = text_of(rows, row, 5),
          .attempts = static_cast<std::uint32_t>(rows.number(row, 6)),
          .provider_ref = text_of(rows, row, 7),
          .result = text_of(rows, row, 8),
          .due = time_of(rows, row, 9),
          .ended = time_of(rows, row, 10)};
}

// The columns of audit_of.
inline AuditView read_audit_event(const Rows& rows, std::size_t row) {
  return {.action = text_of(rows, row, 0),
          .from_state = text_of(rows, row, 1),
          .to_state = text_of(rows, row, 2),
          .trigger = text_of(rows, row, 3),
          .actor = text_of(rows, row, 4),
          .actor_type = text_of(rows, row, 5),
          .metadata = text_of(rows, row, 6),
          .created = rows.time(row, 7),
          .edited_field = text_of(rows, row, 8),
          .before = text_of(rows, row, 9),
          .after = text_of(rows, row, 10)};
}

// Columns 0 to 7: id, org_id, client_ref, target, state, reason, created, completed.
inline SubmissionView read_submission(const Rows& rows, std::size_t row) {
  return {.id = {rows.number(row, 0)},
          .org = {rows.number(row, 1)},
          .client_ref = std::string(rows.text(row, 2)),
          .target = std::string(rows.text(row, 3)),
          .state = std::string(rows.text(row, 4)),
          .reason = std::string(rows.text(row, 5)),
          .created = rows.time(row, 6),
          .completed = rows.is_null(row, 7) ? std::nullopt : std::optional(rows.time(row, 7))};
}

}  // namespace waybill
