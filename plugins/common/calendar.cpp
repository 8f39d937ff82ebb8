// Dates and times by gmtime_r and by hand: strptime and strftime ask the locale.
#include "common/calendar.h"

#include <charconv>
#include <cstdio>
#include <ctime>

namespace waybill::plugins {

namespace {

std::tm utc(std::int64_t unix_seconds) {
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm out{};
  gmtime_r(&time, &out);
  return out;
}

}  // namespace

std::string rfc3339(std::int64_t unix_seconds) {
  const auto t = utc(unix_seconds);
  char out[80];
  std::snprintf(out, sizeof out, "%04d-%02d-%02dT%02d:%02d:%02dZ", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min,
                t.tm_sec);
  return out;
}

std::string mail_date(std::int64_t unix_seconds) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto t = utc(unix_seconds);
  char out[80];
  std::snprintf(out, sizeof out, "%s, %02d %s %04d %02d:%02d:%02d +0000", kDays[t.tm_wday], t.tm_mday, kMonths[t.tm_mon],
                t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
  return out;
}

std::optional<std::int64_t> parse_rfc3339(std::string_view text) {
  const auto number = [&](std::size_t at, std::size_t digits) -> int {
    int out = -1;
    if (at + digits > text.size()) return -1;
    const auto* begin = text.data() + at;
    return *begin != '-' && std::from_chars(begin, begin + digits, out).ptr == begin + digits ? out : -1;
  };
  const auto is = [&](std::size_t at, std::string_view any) { return at < text.size() && any.find(text[at]) != any.npos; };

  std::tm t{};
  t.tm_year = number(0, 4) - 1900, t.tm_mon = number(5, 2) - 1, t.tm_mday = number(8, 2);
  t.tm_hour = number(11, 2), t.tm_min = number(14, 2), t.tm_sec = number(17, 2);
  if (!is(4, "-") || !is(7, "-") || !is(10, "Tt ") || !is(13, ":") || !is(16, ":")) return std::nullopt;
  if (number(0, 4) < 0 || t.tm_hour < 0 || t.tm_hour > 23 || t.tm_min < 0 || t.tm_min > 59 || t.tm_sec < 0 || t.tm_sec > 60)
    return std::nullopt;
  const auto same_day = t;
  const auto seconds = static_cast<std::int64_t>(timegm(&t));  // also takes 30 February, and makes another day of it
  if (t.tm_sec == same_day.tm_sec && (t.tm_mon != same_day.tm_mon || t.tm_mday != same_day.tm_mday)) return std::nullopt;

  std::size_t at = 19;
  if (is(at, ".")) do
      ++at;
    while (is(at, "0123456789"));
  if (is(at, "Zz") && at + 1 == text.size()) return seconds;
  const int hours = number(at + 1, 2), minutes = number(at + 4, 2);
  if (!is(at, "+-") || !is(at + 3, ":") || at + 6 != text.size() || hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
    return std::nullopt;
  return seconds - (text[at] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  static constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT") return std::nullopt;
  const auto month = kMonths.find(text.substr(8, 3));
  if (month == kMonths.npos || month % 3 != 0) return std::nullopt;
  std::string as_rfc3339(text.substr(12, 4));
  as_rfc3339 += month < 27 ? "-0" : "-";
  as_rfc3339 +=
      std::to_string(month / 3 + 1) + '-' + std::string(text.substr(5, 2)) + 'T' + std::string(text.substr(17, 8)) + 'Z';
  return parse_rfc3339(as_rfc3339);
}

}  // namespace waybill::plugins
