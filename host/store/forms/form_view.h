// A form's submission as the API and `waybill explain` show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "domain/status.h"
#include "store/submissions/attempt_view.h"
#include "store/submissions/submission_view.h"

namespace waybill {

struct AttachmentView {
  std::string id;
  std::string name;
  std::string content_type;
  std::int64_t size = 0;
  std::string scan;  // pending, clean, infected
  std::optional<Timestamp> scanned;
};

// One delivery of an action, of a form or of a pipeline's state; each replay is one more.
struct ActionDeliveryView {
  DeliveryId delivery;
  int action_order = 0;
  int replay = 0;
  std::string action_type;
  Status status = Status::waiting;
  std::string reason;
  std::uint32_t attempts = 0;
  std::string provider_ref;
  std::string result;            // JSON, or empty
  std::optional<Timestamp> due;  // while it is unfinished
  std::optional<Timestamp> ended;
};

struct FormDeliveryView : ActionDeliveryView {
  std::string status_field;  // the surface's own names for this type's status and reference, if any
  std::string ref_field;
  std::vector<AttemptView> history;  // in order; those of a purged submission without their errors
};

struct AuditView {
  std::string action, from_state, to_state, trigger, actor, actor_type;
  std::string metadata;  // JSON, or empty
  Timestamp created;
  // For the edit of a dead letter, until the purge: `fields` as JSON, or `destination` as text.
  std::string edited_field, before, after;
};

struct FormView {
  SubmissionView submission;  // `target` is the form's id
  std::optional<Timestamp> finalized;
  std::optional<Timestamp> kept_until;
  std::vector<AttachmentView> attachments;
  std::vector<FormDeliveryView> deliveries;  // by action, then replay
  std::vector<AuditView> audit;              // in order of time
};

}  // namespace waybill
