// What a body may call itself.
#pragma once

#include <optional>

#include "http/http.h"

namespace waybill::http {

// 415 unless this route can read the request's body as its headers call it:
// - a Content-Encoding may only be `identity`, whether there is a body or not;
// - a body with a Content-Type is of a type that the route reads, whatever its parameters: application/json, beside it
//   application/x-ndjson for a batch, and application/x-www-form-urlencoded for the console.
// A body without Content-Type is taken for what the route reads.
std::optional<Response> content_refusal(const Route& route, const Request& request);

}  // namespace waybill::http
