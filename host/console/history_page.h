// The page for people: an intent and its attempts as an HTML fragment, from the database.
#pragma once

#include <string>
#include <vector>

#include "api/read_pool.h"
#include "http/http.h"
#include "store/submissions/read_store.h"

namespace waybill {

std::string escape_html(std::string_view text);
std::string history_fragment(const HistoryView& history);

// POST /ui/history with form field intentId.
std::vector<http::Route> console_routes(ReadPool& pool);

}  // namespace waybill
