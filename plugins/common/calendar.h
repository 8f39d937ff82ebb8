// Points in time as RFC 3339 and mail headers write them, whatever the process's locale and time zone are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace waybill::plugins {

// "2026-03-01T12:00:00Z"
std::string rfc3339(std::int64_t unix_seconds);

// "Sun, 01 Mar 2026 12:00:00 +0000"
std::string mail_date(std::int64_t unix_seconds);

// Seconds since 1970 of an RFC 3339 time, fractions cut off; none if it is no such time.
std::optional<std::int64_t> parse_rfc3339(std::string_view text);

// Seconds since 1970 of "Sun, 01 Mar 2026 12:00:00 GMT", the form that HTTP's Date header has; none if it is no such time.
std::optional<std::int64_t> parse_http_date(std::string_view text);

}  // namespace waybill::plugins
