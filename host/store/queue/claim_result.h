// The rows that a claim returns: of the queue, on insert, or of suspects.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "base/trace_context.h"
#include "domain/channel.h"
#include "domain/history.h"
#include "domain/outcome.h"
#include "domain/submission_terms.h"

namespace waybill {

struct ClaimedRow {
  DeliveryId delivery;
  SubmissionId submission;
  OrgId org;
  RouteId route;
  Timestamp due;
  History history;
  int action_order;
  Timestamp created;
  std::string kind;
  std::string client_ref;
  std::string payload;
  std::size_t body_bytes = 0;                // of the payload
  bool withheld = false;                     // payload left out: it would have exceeded the claim's limit of bytes
  std::string progress;                      // JSON that an earlier attempt left, or empty
  std::optional<Artifact> artifact;          // once its plugin has composed it
  std::shared_ptr<const Channel> channel{};  // of a notification
  Trace trace{};                             // of its submission
  Terms terms{};                             // likewise
};
struct ClaimResult {
  Timestamp now;  // at the end of the claim, after its waits for locks
  std::vector<ClaimedRow> rows;
};

}  // namespace waybill
