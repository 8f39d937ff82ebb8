// Schedules in the notation of cron: "0 9 * * 1-5".
#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "base/time_zone.h"

namespace waybill {

// Minute, hour, day of the month, month, day of the week. If both fields of days are restricted, either is enough.
struct CronSchedule {
  std::bitset<60> minutes;
  std::bitset<24> hours;
  std::bitset<32> days;                       // from 1
  std::bitset<13> months;                     // from 1
  std::bitset<7> weekdays;                    // from 0, a Sunday
  bool any_day = false, any_weekday = false;  // the field begins with *

  bool operator==(const CronSchedule&) const = default;
  bool is_day(int month, int day, int weekday) const;
};

// Five fields with *, lists, ranges, steps, and names of months and days. Error::invalid names the field. A schedule that no date
// fits, such as 30 February, is refused.
Result<CronSchedule> parse_cron(std::string_view text);

// The first whole minute after `time` that fits. A time that the zone's clocks pass over runs when they jump; one that they show
// twice runs the first time.
Timestamp next_after(const CronSchedule& schedule, Timestamp time, const TimeZone& zone);

}  // namespace waybill
