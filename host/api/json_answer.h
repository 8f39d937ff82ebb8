// Pieces of the answers' JSON that several surfaces share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"

namespace waybill {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json);  // on one line; what is no UTF-8 is replaced
Json time_or_null(const std::optional<Timestamp>& time);
Json text_or_null(const std::string& text);
Json json_or_null(const std::string& text);  // null also for what is no JSON
Json attempts_json(const std::vector<AttemptView>& attempts);

}  // namespace waybill
