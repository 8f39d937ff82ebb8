// Points in time as text.
#include "base/time.h"

#include <algorithm>
#include <charconv>
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

namespace {

// 'd' stands for a digit, 'T' for what may stand between date and time, all else for itself.
bool has_shape(std::string_view text, std::string_view shape) {
  return text.size() == shape.size() && std::equal(text.begin(), text.end(), shape.begin(), [](char c, char s) {
           if (s == 'd') return c >= '0' && c <= '9';
           return s == 'T' ? c == 'T' || c == 't' || c == ' ' : c == s;
         });
}

int number_in(std::string_view text, std::size_t at, std::size_t digits) {
  int value = 0;
  std::from_chars(text.data() + at, text.data() + at + digits, value);
  return value;
}

// Seconds east of UTC.
std::optional<int> offset_of(std::string_view zone) {
  if (zone == "Z" || zone == "z") return 0;
  const bool west = zone.starts_with('-');
  if (!has_shape(zone, west ? "-dd:dd" : "+dd:dd")) return std::nullopt;
  const int hours = number_in(zone, 1, 2), minutes = number_in(zone, 4, 2);
  if (hours > 23 || minutes > 59) return std::nullopt;
  return (west ? -1 : 1) * (hours * 3600 + minutes * 60);
}

constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";

}  // namespace

std::optional<Timestamp> parse_rfc3339(std::string_view text) {
  if (!has_shape(text.substr(0, kShape.size()), kShape)) return std::nullopt;
  std::tm utc{};
  utc.tm_year = number_in(text, 0, 4) - 1900;
  utc.tm_mon = number_in(text, 5, 2) - 1;
  utc.tm_mday = number_in(text, 8, 2);
  utc.tm_hour = number_in(text, 11, 2);
  utc.tm_min = number_in(text, 14, 2);
  utc.tm_sec = number_in(text, 17, 2);
  std::tm normal = utc;
  normal.tm_sec = std::min(utc.tm_sec, 59);  // a leap second is the next one
  const std::int64_t seconds = timegm(&normal) + utc.tm_sec - normal.tm_sec;
  const bool same = normal.tm_mon == utc.tm_mon && normal.tm_mday == utc.tm_mday && normal.tm_hour == utc.tm_hour &&
                    normal.tm_min == utc.tm_min;
  if (!same || utc.tm_sec > 60 || utc.tm_year < 70) return std::nullopt;  // timegm makes 1 March of 30 February
  auto zone = text.substr(kShape.size());
  if (zone.starts_with('.')) {
    const auto end = zone.find_first_not_of("0123456789", 1);
    if (end == 1 || end == std::string_view::npos) return std::nullopt;
    zone.remove_prefix(end);
  }
  const auto offset = offset_of(zone);
  if (!offset) return std::nullopt;
  constexpr std::int64_t kEnd = 253'402'300'800;  // year 10000: what the offset moves there has no RFC 3339 form in UTC
  const auto utc_seconds = seconds - *offset;
  return utc_seconds >= 0 && utc_seconds < kEnd ? std::optional(Timestamp{utc_seconds * 1'000'000}) : std::nullopt;
}

std::optional<Timestamp> parse_rfc3339_micros(std::string_view text) {
  auto time = parse_rfc3339(text);
  if (!time || text[kShape.size()] != '.') return time;
  const auto digits = text.substr(kShape.size() + 1);
  std::int64_t unit = 100'000;
  for (std::size_t i = 0; unit > 0 && digits[i] >= '0' && digits[i] <= '9'; ++i, unit /= 10)
    time->micros += (digits[i] - '0') * unit;
  return time;
}

}  // namespace waybill
