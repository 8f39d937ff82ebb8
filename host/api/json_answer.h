// Pieces of the answers' JSON that several surfaces share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "store/read_store.h"

namespace waybill {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json);  // on one line; what is no UTF-8 is replaced
// `text` as a JSON string, as dump() would write it, at the end of `json`. Plain ASCII costs next to nothing.
void append_string(std::string& json, std::string_view text);
Json time_or_null(const std::optional<Timestamp>& time);
Json text_or_null(const std::string& text);
Json json_or_null(const std::string& text);                            // null also for what is no JSON
Json edited_json(const std::string& field, const std::string& value);  // of an edit: fields are JSON, the rest is text
Json attempts_json(const std::vector<AttemptView>& attempts);
Json problems_json(const Problems& problems);

}  // namespace waybill
