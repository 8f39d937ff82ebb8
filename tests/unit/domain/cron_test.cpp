// Cron schedules: the notation, and the next time, against a walk over every minute by the C library's clock.  J5
#include "domain/cron.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <ctime>

namespace waybill {
namespace {

constexpr std::int64_t kMinute = 60;

Timestamp at(const char* text) { return *parse_rfc3339(text); }

std::string next(const std::string& schedule, const char* time, const std::string& zone = "UTC") {
  const auto parsed = parse_cron(schedule);
  const auto of_zone = TimeZone::find(zone);
  if (!parsed) return parsed.error().what;
  if (!of_zone) return of_zone.error().what;
  return format_rfc3339(next_after(*parsed, at(time), *of_zone)).substr(0, 16);
}

std::string refusal(const std::string& schedule) {
  const auto parsed = parse_cron(schedule);
  return parsed ? "" : parsed.error().what;
}

TEST(ACronSchedule, SaysWhenItComesNext) {
  EXPECT_EQ(next("0 9 * * *", "2026-11-23T08:59:59Z"), "2026-11-23T09:00");
  EXPECT_EQ(next("0 9 * * *", "2026-11-23T09:00:00Z"), "2026-11-24T09:00") << "after, not at";
  EXPECT_EQ(next("*/15 * * * *", "2026-11-23T08:46:00Z"), "2026-11-23T09:00");
  EXPECT_EQ(next("5/20 * * * *", "2026-11-23T08:26:00Z"), "2026-11-23T08:45");
  EXPECT_EQ(next("0 9-17/4 * * Mon-FRI", "2026-11-20T17:30:00Z"), "2026-11-23T09:00");
  EXPECT_EQ(next("30 6 1,15 jan,jul *", "2026-07-15T06:30:00Z"), "2027-01-01T06:30");
  EXPECT_EQ(next("0 0 29 2 *", "2026-01-01T00:00:00Z"), "2028-02-29T00:00");
  EXPECT_EQ(next("0 0 * * 7", "2026-11-23T00:00:00Z"), "2026-11-29T00:00");
  EXPECT_EQ(next("0 0 * * fri-sun", "2026-11-28T12:00:00Z"), "2026-11-29T00:00");
}

TEST(ACronSchedule, TakesEitherDayIfBothAreRestricted) {
  EXPECT_EQ(next("0 0 13 * fri", "2026-11-23T00:00:00Z"), "2026-11-27T00:00") << "a Friday";
  EXPECT_EQ(next("0 0 13 * fri", "2026-12-11T00:00:00Z"), "2026-12-13T00:00") << "the 13th, a Sunday";
  EXPECT_EQ(next("0 0 */2 * fri", "2026-11-24T00:00:00Z"), "2026-11-27T00:00")
      << "a field that begins with * restricts too, but as well";
}

TEST(ACronSchedule, RunsOnceWhereClocksAreChanged) {
  EXPECT_EQ(next("30 1 * * *", "2026-03-28T12:00:00Z", "Europe/London"), "2026-03-29T01:00")
      << "01:30 is not there: when clocks jump";
  EXPECT_EQ(next("30 1 * * *", "2026-03-29T01:00:00Z", "Europe/London"), "2026-03-30T00:30") << "and not again at 02:30";
  EXPECT_EQ(next("30 1 * * *", "2026-10-24T12:00:00Z", "Europe/London"), "2026-10-25T00:30");
  EXPECT_EQ(next("30 1 * * *", "2026-10-25T00:30:00Z", "Europe/London"), "2026-10-26T01:30") << "the second 01:30 is passed over";
  EXPECT_EQ(next("0 9 * * *", "2026-07-01T00:00:00Z", "Europe/London"), "2026-07-01T08:00");
  EXPECT_EQ(next("0 12 30 12 *", "2011-12-01T00:00:00Z", "Pacific/Apia"), "2011-12-30T10:00") << "a day that was left out";
}

TEST(ACronSchedule, ThatIsWrongIsRefusedByItsField) {
  EXPECT_NE(refusal("0 9 * *").find("4 fields"), std::string::npos) << refusal("0 9 * *");
  EXPECT_NE(refusal("").find("0 fields"), std::string::npos);
  for (const auto& [schedule, words] : std::initializer_list<std::pair<const char*, const char*>>{
           {"60 9 * * *", "minute \"60\": must be from 0 to 59"},
           {"0 24 * * *", "hour \"24\": must be from 0 to 23"},
           {"0 0 0 * *", "day of the month \"0\""},
           {"0 0 * foo *", "month \"foo\": must be from 1 to 12, or a name such as feb"},
           {"0 0 * * 8", "day of the week \"8\""},
           {"*/0 * * * *", "minute \"*/0\": a step"},
           {"1/2/3 * * * *", "minute \"1/2/3\": a step"},
           {"9-5 * * * *", "minute \"9-5\": the range runs backwards"},
           {"1,,2 * * * *", "minute \"\""},
           {"-5 * * * *", "minute \"-5\""},
           {"1-2-3 * * * *", "minute \"1-2-3\""},
           {"0 0 30 2 *", "day of the month \"30\" is in none of these months"},
           {"0 0 31 4,6,9,11 *", "day of the month"}})
    EXPECT_NE(refusal(schedule).find(words), std::string::npos) << schedule << ": " << refusal(schedule);
}

// The system's clock on the wall, minute by minute.
class Walker {
 public:
  Walker(const CronSchedule& schedule, const std::string& zone) : schedule_(schedule) {
    setenv("TZ", (":" + zone).c_str(), 1);
    tzset();
  }
  ~Walker() {
    unsetenv("TZ");
    tzset();
  }

  std::int64_t next_after(std::int64_t utc, std::int64_t until) const {
    for (auto minute = utc - utc % kMinute + kMinute; minute < until; minute += kMinute)
      if (runs_at(minute)) return minute;
    return until;
  }

 private:
  static std::int64_t local(std::int64_t utc) {
    const std::time_t time = utc;
    std::tm on_the_wall{};
    localtime_r(&time, &on_the_wall);
    return utc + on_the_wall.tm_gmtoff;
  }
  bool fits(std::int64_t shown) const {
    const std::time_t time = shown;
    std::tm t{};
    gmtime_r(&time, &t);
    return schedule_.minutes[static_cast<std::size_t>(t.tm_min)] && schedule_.hours[static_cast<std::size_t>(t.tm_hour)] &&
           schedule_.is_day(t.tm_mon + 1, t.tm_mday, t.tm_wday);
  }
  bool runs_at(std::int64_t minute) const {
    const auto shown = local(minute), before = local(minute - kMinute);
    for (auto passed_over = before + kMinute; passed_over < shown; passed_over += kMinute)
      if (fits(passed_over)) return true;
    for (auto earlier = minute - 180 * kMinute; earlier < minute; earlier += kMinute)
      if (local(earlier) == shown) return false;  // clocks were set back since
    return fits(shown);
  }

  const CronSchedule& schedule_;
};

std::string any_field(int least, int most) {
  const auto value = [&] { return *rc::gen::inRange(least, most + 1); };
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      return "*";
    case 1:
      return "*/" + std::to_string(*rc::gen::inRange(1, most + 1));
    case 2: {
      const auto a = value(), b = value();
      return std::to_string(std::min(a, b)) + "-" + std::to_string(std::max(a, b));
    }
    case 3:
      return std::to_string(value()) + "," + std::to_string(value());
    default:
      return std::to_string(value());
  }
}

RC_GTEST_PROP(ACronScheduleOfAnyKind, ComesNextWhenAWalkOverEveryMinuteFindsIt, ()) {
  const std::string text = any_field(0, 59) + " " + any_field(0, 3) + " " + any_field(1, 28) + " * " + any_field(0, 7);
  const auto schedule = parse_cron(text);
  RC_ASSERT(schedule.has_value());
  const auto zone =
      *rc::gen::element<std::string>("Europe/London", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "UTC");
  const auto of_zone = TimeZone::find(zone);
  RC_ASSERT(of_zone.has_value());
  // Around a change of the clocks, at hours at which they are changed.
  const std::int64_t changes[] = {1'774'746'000, 1'792'890'000, 1'772'953'200, 1'793'512'800,
                                  1'775'314'800, 1'791'039'600, 1'771'120'800, 1'774'144'800};
  const auto begin =
      *rc::gen::element(changes[0], changes[1], changes[2], changes[3], changes[4], changes[5], changes[6], changes[7]) +
      *rc::gen::inRange(-6 * 3600, 3 * 3600);
  const auto until = begin + 5 * 86'400;
  const Walker walker(*schedule, zone);
  const auto ours = next_after(*schedule, {begin * 1'000'000}, *of_zone).micros / 1'000'000;
  RC_LOG() << text << " in " << zone << " after " << begin << "\n";
  RC_ASSERT(std::min(ours, until) == walker.next_after(begin, until));
}

}  // namespace
}  // namespace waybill
