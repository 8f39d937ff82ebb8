// Intents as the wire shows them. The contract never appears.
#pragma once

#include <string>

#include "http/http.h"
#include "store/read_store.h"

namespace waybill {

std::string intent_json(const SubmissionView& intent);
std::string history_json(const HistoryView& history);

// How a failure of ours looks to a client: 503 `unavailable` when trying again may help, else 500 `internal_error`.
Response failure_response(const Error& error);

}  // namespace waybill
