// Many intents in one request: a JSON array of them, or one in each line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/json_envelope.h"
#include "http/http.h"

namespace waybill {

inline constexpr std::size_t kMaxIntentsInBatch = 10'000;

// The items in their order; one that is no good intent has its own Error::invalid. Error::invalid for the whole when it is no
// JSON, or too many: then nothing of it may be stored.
Result<std::vector<Result<IntentRequest>>> read_batch(std::string_view body);

// {"results": [{"status": 200, "intent": {...}} | {"status": 409, "error": {...}}, ...]}, in the order of the items.
std::string batch_json(const std::vector<http::Response>& answers);

}  // namespace waybill
