// The offsets of a time zone from UTC, read from the system's time zone database.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace waybill {

// Immutable. Times are seconds since 1970: of UTC, or as a clock on the wall shows them ("local").
class TimeZone {
 public:
  // "UTC", a fixed offset such as "+02:00", or a name of the database such as "Europe/London". Error::invalid says what to write.
  static Result<TimeZone> find(const std::string& name);
  // The contents of a TZif file (RFC 8536), version 2 or later; and the same from a rule alone ("CET-1CEST,M3.5.0,M10.5.0/3").
  static Result<TimeZone> parse(std::string_view tzif);
  static Result<TimeZone> of_rule(std::string_view text);

  Seconds offset_at(std::int64_t utc) const;  // east of UTC
  // When a clock on the wall shows `local`: the first time if it does so twice; the end of the gap if it never does.
  std::int64_t utc_of(std::int64_t local) const;

 private:
  struct Change {
    std::int64_t at;  // UTC
    Seconds offset;   // from then on
  };
  struct Day {  // of a year, with the time on it
    enum class Kind : std::uint8_t { week, julian, plain } kind = Kind::plain;
    int month = 0, week = 0, weekday = 0, day = 0;
    std::int64_t seconds = 7200;      // two o'clock
    std::int64_t in(int year) const;  // local seconds since 1970
  };
  struct Rule {
    Seconds standard{0}, summer{0};
    bool has_summer = false;
    Day begin, end;  // of summer time
  };
  class RuleReader;

  std::vector<Change> changes_;  // in order of time
  Seconds first_{0};             // before the first change
  Rule rule_;                    // after the last one
  bool has_rule_ = false;
};

}  // namespace waybill
