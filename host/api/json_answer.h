// Pieces of the answers' JSON that several surfaces share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/problem.h"
#include "store/forms/form_view.h"
#include "store/submissions/attempt_view.h"

namespace waybill {

Json time_or_null(const std::optional<Timestamp>& time);
Json text_or_null(const std::string& text);
Json json_or_null(const std::string& text);  // null also for what is no JSON; numbers as they are written
Json edited_json(const std::string& field, const std::string& value);  // of an edit: fields are JSON, the rest is text
void append_terms(Json& json, const Terms& terms);                     // those that a submission has
void append_delivery(Json& json, const ActionDeliveryView& delivery);  // what deliveries of forms and of pipelines have in common
Json attempts_json(const std::vector<AttemptView>& attempts);
Json audit_json(const AuditView& event);
Json problems_json(const Problems& problems);

}  // namespace waybill
