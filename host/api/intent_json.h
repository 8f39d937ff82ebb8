// Intents as the wire shows them. The contract never appears.
#pragma once

#include <string>

#include "store/submissions/read_store.h"

namespace waybill {

std::string intent_json(const SubmissionView& intent);
std::string history_json(const HistoryView& history);

}  // namespace waybill
