// Points in time as text.
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

std::optional<Timestamp> parse_rfc3339(const std::string& text) {
  int year = 0, read = 0;
  std::tm utc{};
  const int fields = std::sscanf(text.c_str(), "%4d-%2d-%2d%*1[Tt ]%2d:%2d:%2d%n", &year, &utc.tm_mon, &utc.tm_mday, &utc.tm_hour,
                                 &utc.tm_min, &utc.tm_sec, &read);
  if (fields != 6 || read != 19 || text.find_first_of("+ ") < 10) return std::nullopt;  // sscanf skips blanks and signs
  utc.tm_year = year - 1900;
  utc.tm_mon -= 1;
  std::tm normal = utc;
  const std::int64_t seconds = timegm(&normal);  // makes 1 March of 30 February
  const bool leap_second = utc.tm_sec == 60;
  if (year < 1970 || (!leap_second && (normal.tm_mday != utc.tm_mday || normal.tm_hour != utc.tm_hour ||
                                       normal.tm_min != utc.tm_min || normal.tm_sec != utc.tm_sec)))
    return std::nullopt;
  std::size_t at = 19;
  if (at < text.size() && text[at] == '.') {
    const auto end = text.find_first_not_of("0123456789", at + 1);
    if (end == at + 1 || end == std::string::npos) return std::nullopt;
    at = end;
  }
  const std::string zone = text.substr(at);
  if (zone == "Z" || zone == "z") return Timestamp{seconds * 1'000'000};
  int hours = 0, minutes = 0;
  const bool shifted = zone.size() == 6 && (zone[0] == '+' || zone[0] == '-') &&
                       zone.find_first_of("+- ", 1) == std::string::npos &&
                       std::sscanf(zone.c_str() + 1, "%2d:%2d", &hours, &minutes) == 2 && hours < 24 && minutes < 60;
  if (!shifted) return std::nullopt;
  return Timestamp{(seconds - (zone[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60)) * 1'000'000};
}

}  // namespace waybill
