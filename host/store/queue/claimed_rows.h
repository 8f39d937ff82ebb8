// Reads the rows that a claim returns.
#pragma once

#include "store/queue/claim_result.h"
#include "store/queue/history_rows.h"
#include "store/submissions/read_rows.h"

namespace waybill {

// A row of `claim` or `claim_suspect`. The body is null if it would have exceeded the claim's limit of bytes; body and size of a
// notification are null.
template <class OneRow>
ClaimedRow read_claimed(const OneRow& row) {
  ClaimedRow claimed{.delivery = {row.delivery_id()},
                     .submission = {row.submission_id()},
                     .org = {row.org_id()},
                     .route = {row.route_id()},
                     .due = row.due(),
                     .history = read_history(row),
                     .action_order = static_cast<int>(row.action_order()),
                     .created = row.created(),
                     .kind = std::string(row.kind()),
                     .client_ref = std::string(row.client_ref()),
                     .payload = text_or_empty(row.body()),
                     .body_bytes = static_cast<std::size_t>(row.body_bytes().value_or(0)),
                     .withheld = !row.body(),
                     .progress = text_or_empty(row.progress()),
                     .artifact = {}};
  if (const auto trace = row.trace()) claimed.trace = trace_from(*trace);
  if (const auto terms = row.terms()) claimed.terms = terms_from(*terms);
  if (const auto type = row.media_type()) claimed.artifact = Artifact{std::string(*type), from_hex(*row.artifact())};
  return claimed;
}

}  // namespace waybill
