// Printing points in time.
#include "core/time.h"

#include <cstdio>
#include <ctime>

namespace waybill {

std::string format_rfc3339(Timestamp t) {
  std::int64_t seconds = t.micros / 1'000'000;
  std::int64_t micros = t.micros % 1'000'000;
  if (micros < 0) {
    micros += 1'000'000;
    --seconds;
  }
  const std::time_t time = seconds;
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[64];
  const int length = std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", utc.tm_year + 1900, utc.tm_mon + 1,
                                   utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, static_cast<int>(micros));
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace waybill
