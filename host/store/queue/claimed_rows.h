// Reads the rows that a claim returns.
#pragma once

#include "store/queue/claim_result.h"
#include "store/submissions/read_rows.h"

namespace waybill {

// Columns 0 to 18: now, delivery_id, submission_id, org_id, route_id, due, attempt_count, lease_lost, maybe_sent, action_order,
// created, kind, client_ref, body, media type and hexadecimal body of an artifact, progress, uncounted, the body's size. The body
// is null if it would have exceeded the claim's limit of bytes; body and size of a notification are null.
inline ClaimedRow read_claimed(const Rows& rows, std::size_t row) {
  ClaimedRow claimed{.delivery = {rows.number(row, 1)},
                     .submission = {rows.number(row, 2)},
                     .org = {rows.number(row, 3)},
                     .route = {rows.number(row, 4)},
                     .due = rows.time(row, 5),
                     .attempt_count = static_cast<std::uint32_t>(rows.number(row, 6)),
                     .lease_lost = static_cast<std::uint32_t>(rows.number(row, 7)),
                     .uncounted = static_cast<std::uint32_t>(rows.number(row, 17)),
                     .maybe_sent = rows.flag(row, 8),
                     .action_order = static_cast<int>(rows.number(row, 9)),
                     .created = rows.time(row, 10),
                     .kind = text_of(rows, row, 11),
                     .client_ref = text_of(rows, row, 12),
                     .payload = text_of(rows, row, 13),
                     .body_bytes = rows.is_null(row, 18) ? 0 : static_cast<std::size_t>(rows.number(row, 18)),
                     .withheld = rows.is_null(row, 13),
                     .artifact = {},
                     .progress = text_of(rows, row, 16)};
  if (!rows.is_null(row, 14)) claimed.artifact = Artifact{text_of(rows, row, 14), from_hex(rows.text(row, 15))};
  return claimed;
}

}  // namespace waybill
