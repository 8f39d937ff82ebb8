// Reads the rows that a claim returns.
#pragma once

#include "store/queue/claim_result.h"
#include "store/queue/history_rows.h"
#include "store/submissions/read_rows.h"

namespace waybill {

// Columns: now, delivery_id, submission_id, org_id, route_id, due, action_order, created, kind, client_ref, the body's size,
// body, media type and hexadecimal body of an artifact, progress, history. The body is null if it would have exceeded the claim's
// limit of bytes; body and size of a notification are null.
inline ClaimedRow read_claimed(const Rows& rows, std::size_t row) {
  ClaimedRow claimed{.delivery = {rows.number(row, 1)},
                     .submission = {rows.number(row, 2)},
                     .org = {rows.number(row, 3)},
                     .route = {rows.number(row, 4)},
                     .due = rows.time(row, 5),
                     .history = read_history(rows, row, 15),
                     .action_order = static_cast<int>(rows.number(row, 6)),
                     .created = rows.time(row, 7),
                     .kind = text_of(rows, row, 8),
                     .client_ref = text_of(rows, row, 9),
                     .payload = text_of(rows, row, 11),
                     .body_bytes = rows.is_null(row, 10) ? 0 : static_cast<std::size_t>(rows.number(row, 10)),
                     .withheld = rows.is_null(row, 11),
                     .progress = text_of(rows, row, 14),
                     .artifact = {}};
  if (!rows.is_null(row, 12)) claimed.artifact = Artifact{text_of(rows, row, 12), from_hex(rows.text(row, 13))};
  return claimed;
}

}  // namespace waybill
