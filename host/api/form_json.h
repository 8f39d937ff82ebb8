// Submissions of forms as the wire has them: requests read strictly, views written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "intake/form_intake.h"

namespace waybill {

inline constexpr std::size_t kMaxAttachments = 100;

// All that the body says; its organisation and form are the caller's to set. Error::invalid with a message for the client, which
// names the field.
Result<NewForm> read_form_request(std::string_view body);
Result<Scan> read_scan_result(std::string_view body);

// {"submissionId", "status"}
std::string form_state_json(const FormState& state);
// What GET /v1/submissions/{id} shows.
std::string form_view_json(const FormView& view);

}  // namespace waybill
