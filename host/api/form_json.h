// Submissions of forms as the wire has them: requests read strictly, views written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/forms.h"

namespace waybill {

inline constexpr std::size_t kMaxAttachments = 100;

struct FormRequest {
  std::string submission_id;
  std::string form_id;
  std::string fields;            // the very bytes of the object
  std::string attachments_json;  // of the array; "[]" if there was none
  std::vector<NewAttachment> attachments;
  std::optional<Timestamp> kept_until;
  bool finalize = false;
  // Of all that makes it the same submission: form, fields, attachments, retention.
  Sha256 hash() const;
};

// Error::invalid with a message for the client, which names the field.
Result<FormRequest> read_form_request(std::string_view body);
Result<Scan> read_scan_result(std::string_view body);

// {"submissionId", "status"}
std::string form_state_json(const FormState& state);
// What GET /v1/submissions/{id} shows.
std::string form_view_json(const FormView& view);

}  // namespace waybill
