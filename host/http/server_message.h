// The bytes of a response before its body.
#pragma once

#include <string>

#include "http/http.h"

namespace waybill::http {

struct ResponseHead {
  std::string bytes;  // status line to empty line
  bool with_body;     // false for HEAD and for statuses that have none
};

// Every answer has a Date, and unless the route says otherwise `Cache-Control: no-store` and `X-Content-Type-Options: nosniff`.
// A response that a route filled in wrongly (an impossible status, a line break in a header) loses the wrong part, nothing more.
ResponseHead response_head(const Response& response, bool to_head_request, bool keep_alive, bool http_1_0);

}  // namespace waybill::http
