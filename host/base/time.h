// Points in time by the database's clock, and lengths of time.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace waybill {

using Micros = std::chrono::microseconds;
using Millis = std::chrono::milliseconds;
using Seconds = std::chrono::seconds;

// Microseconds since 1970-01-01 UTC, by the clock of the database: the only clock that deadlines and due times are read from.
struct Timestamp {
  std::int64_t micros = 0;
  auto operator<=>(const Timestamp&) const = default;

  friend constexpr Timestamp operator+(Timestamp t, Micros d) { return {t.micros + d.count()}; }
  friend constexpr Timestamp operator-(Timestamp t, Micros d) { return {t.micros - d.count()}; }
  friend constexpr Micros operator-(Timestamp a, Timestamp b) { return Micros{a.micros - b.micros}; }
};

// "2026-01-31T09:30:00.123456Z"
std::string format_rfc3339(Timestamp t);
// Any RFC 3339 time from 1970 to 9999 in UTC, fractions cut off; none if it is no such time.
std::optional<Timestamp> parse_rfc3339(std::string_view text);
// The same with its fraction, to the microsecond.
std::optional<Timestamp> parse_rfc3339_micros(std::string_view text);

}  // namespace waybill
