// Time zones: what the database's files say, against the C library, which reads them too.  J5
#include "base/time_zone.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>

namespace waybill {
namespace {

// This process's zone, while it lives.
class SystemZone {
 public:
  explicit SystemZone(const std::string& name) {
    setenv("TZ", (":" + name).c_str(), 1);
    tzset();
  }
  ~SystemZone() {
    unsetenv("TZ");
    tzset();
  }
  static Seconds offset_at(std::int64_t utc) {
    const std::time_t time = utc;
    std::tm local{};
    localtime_r(&time, &local);
    return Seconds(local.tm_gmtoff);
  }
};

constexpr std::int64_t kHour = 3600;

TEST(ATimeZone, HasTheOffsetsThatTheSystemHas) {
  for (const auto* name : {"Europe/London", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo",
                           "Pacific/Apia", "Africa/Casablanca", "Asia/Kathmandu", "Europe/Dublin", "America/St_Johns"}) {
    const SystemZone system(name);
    const auto zone = TimeZone::find(name);
    ASSERT_TRUE(zone) << zone.error().what;
    for (std::int64_t utc = 0; utc < std::int64_t{80} * 366 * 24 * kHour; utc += 7 * kHour)  // until 2050
      ASSERT_EQ(zone->offset_at(utc), SystemZone::offset_at(utc)) << name << " at " << utc;
  }
}

TEST(ATimeZone, GoesOnByItsRuleWhereTheFileEnds) {
  for (const auto& [name, rule] :
       std::initializer_list<std::pair<const char*, const char*>>{{"Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3"},
                                                                  {"Europe/Dublin", "IST-1GMT0,M10.5.0,M3.5.0/1"},
                                                                  {"Australia/Lord_Howe", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"},
                                                                  {"America/New_York", "EST5EDT,M3.2.0,M11.1.0"}}) {
    const SystemZone system(name);
    const auto zone = TimeZone::of_rule(rule);
    ASSERT_TRUE(zone) << rule;
    for (std::int64_t utc = std::int64_t{50} * 366 * 24 * kHour; utc < std::int64_t{90} * 366 * 24 * kHour; utc += kHour)
      ASSERT_EQ(zone->offset_at(utc), SystemZone::offset_at(utc)) << rule << " at " << utc;
  }
}

TEST(ATimeZone, MapsWhatTheClockShowsToTheFirstTimeOrTheEndOfTheGap) {
  const auto zone = TimeZone::find("Europe/London");
  ASSERT_TRUE(zone);
  const auto at = [](const char* text) { return parse_rfc3339(text)->micros / 1'000'000; };
  EXPECT_EQ(zone->utc_of(at("2026-07-01T09:00:00Z")), at("2026-07-01T08:00:00Z"));
  EXPECT_EQ(zone->utc_of(at("2026-12-01T09:00:00Z")), at("2026-12-01T09:00:00Z"));
  EXPECT_EQ(zone->utc_of(at("2026-03-29T01:30:00Z")), at("2026-03-29T01:00:00Z")) << "01:00 to 02:00 never was";
  EXPECT_EQ(zone->utc_of(at("2026-10-25T01:30:00Z")), at("2026-10-25T00:30:00Z")) << "01:30 was twice";
  EXPECT_EQ(zone->utc_of(at("2026-10-25T02:00:00Z")), at("2026-10-25T02:00:00Z"));
}

TEST(ATimeZone, IsUtcAnOffsetOrAName) {
  EXPECT_EQ(TimeZone::find("UTC")->offset_at(0), Seconds(0));
  EXPECT_EQ(TimeZone::find("+05:30")->offset_at(0), Seconds(5 * 3600 + 1800));
  EXPECT_EQ(TimeZone::find("-02:00")->offset_at(0), Seconds(-7200));
  for (const auto* name :
       {"", "Europe/Lundon", "../etc/passwd", "Europe/../../../etc/passwd", "/etc/localtime", "+25:00", "tzdata.zi", "Europe"}) {
    const auto none = TimeZone::find(name);
    ASSERT_FALSE(none) << name;
    EXPECT_NE(none.error().what.find("Europe/London"), std::string::npos) << none.error().what;
  }
}

TEST(ATimeZone, IsNotReadFromADamagedFile) {
  EXPECT_FALSE(TimeZone::parse(""));
  EXPECT_FALSE(TimeZone::parse(std::string(44, 'T')));
  std::ifstream in("/usr/share/zoneinfo/UTC", std::ios::binary);
  std::string utc(std::istreambuf_iterator<char>(in), {});
  ASSERT_TRUE(TimeZone::parse(utc));
  utc[utc.find("TZif", 4) + 44] = 1;  // the first byte of its only offset: half a year
  EXPECT_FALSE(TimeZone::parse(utc)) << "no offset is longer than 26 hours";
  for (const auto* rule :
       {"", "C", "CET", "CET-1CEST,M13.1.0,M10.5.0", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,M10.5.0,", "CET-1CEST,J0,J5"})
    EXPECT_FALSE(TimeZone::of_rule(rule)) << rule;
}

}  // namespace
}  // namespace waybill
