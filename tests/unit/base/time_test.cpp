// How points in time and problems are printed.
#include "base/time.h"

#include <gtest/gtest.h>

#include "base/problem.h"

namespace waybill {
namespace {

TEST(FormatRfc3339, PrintsUtcWithMicroseconds) {  // M1
  EXPECT_EQ(format_rfc3339({0}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(format_rfc3339({1}), "1970-01-01T00:00:00.000001Z");
  EXPECT_EQ(format_rfc3339({1'769'851'800'123'456}), "2026-01-31T09:30:00.123456Z");
  EXPECT_EQ(format_rfc3339({951'782'400'000'000}), "2000-02-29T00:00:00.000000Z");
}

TEST(FormatRfc3339, TimesBefore1970CountMicrosecondsForward) {
  EXPECT_EQ(format_rfc3339({-1}), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(format_rfc3339({-1'000'000}), "1969-12-31T23:59:59.000000Z");
  EXPECT_EQ(format_rfc3339({-1'000'001}), "1969-12-31T23:59:58.999999Z");
}

TEST(FormatRfc3339, SortsAsTextAsItDoesInTime) {
  EXPECT_LT(format_rfc3339({999'999}), format_rfc3339({1'000'000}));
  EXPECT_LT(format_rfc3339({1'699'999'999'999'999}), format_rfc3339({1'700'000'000'000'000}));
}

TEST(ParseRfc3339, TakesWhatTheStandardAllows) {  // F4
  const Timestamp wanted{1'769'851'800'000'000};
  for (const char* text : {"2026-01-31T09:30:00Z", "2026-01-31t09:30:00z", "2026-01-31 09:30:00Z", "2026-01-31T09:30:00.999999Z",
                           "2026-01-31T11:30:00+02:00", "2026-01-31T04:00:00.5-05:30", "2026-01-31T09:30:00-00:00"})
    EXPECT_EQ(parse_rfc3339(text), wanted) << text;
  EXPECT_EQ(parse_rfc3339("2000-02-29T00:00:00Z"), (Timestamp{951'782'400'000'000}));
  EXPECT_EQ(parse_rfc3339("2016-12-31T23:59:60Z"), (Timestamp{1'483'228'800'000'000})) << "a leap second is the next one";
}

TEST(ParseRfc3339, RefusesAllElse) {  // F4
  for (const char* text : {"",
                           "tomorrow",
                           "2026-01-31",
                           "2026-01-31T09:30:00",
                           "2026-01-31T09:30Z",
                           "2026-1-31T09:30:00Z",
                           "2026-02-30T00:00:00Z",
                           "2026-13-01T00:00:00Z",
                           "2026-00-01T00:00:00Z",
                           "2026-01-00T00:00:00Z",
                           "2026-01-31T24:00:00Z",
                           "2026-01-31T09:60:00Z",
                           "2026-01-31T09:30:61Z",
                           "2026-01-31T09:30:00.Z",
                           "2026-01-31T09:30:00+2:00",
                           "2026-01-31T09:30:00+0200",
                           "2026-01-31T09:30:00+24:00",
                           "2026-01-31T09:30:00 Z",
                           " 2026-01-31T09:30:00Z",
                           "2026-01-31T09:30:00Zx",
                           "2026-01-31T+9:30:00Z",
                           "2026- 1-31T09:30:00Z",
                           "1969-12-31T23:59:59Z",
                           "-026-01-31T09:30:00Z",
                           "2026-01-31T09:30:-1Z"})
    EXPECT_EQ(parse_rfc3339(text), std::nullopt) << text;
}

// Found by tests/fuzz/rfc3339.cpp: what was read could not be written as RFC 3339 again.
TEST(ParseRfc3339, AnOffsetLeavesTheYearsFrom1970To9999) {  // F4
  EXPECT_EQ(parse_rfc3339("1970-01-01T01:00:00+01:00"), Timestamp{0});
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00+00:01"), std::nullopt);
  EXPECT_EQ(parse_rfc3339("9999-12-31T23:59:59Z"), (Timestamp{253'402'300'799'000'000}));
  EXPECT_EQ(parse_rfc3339("9999-12-31T23:59:59-00:01"), std::nullopt);
  EXPECT_EQ(parse_rfc3339("9999-12-31T23:59:60Z"), std::nullopt);
}

TEST(ToString, AProblemNamesItsFileLineAndField) {  // M13
  EXPECT_EQ(to_string(Problem{"registry/targets.json", 12, "targets[2].policy", "unknown policy"}),
            "registry/targets.json:12: targets[2].policy: unknown policy");
  EXPECT_EQ(to_string(Problem{"waybill.yaml", 0, "", "not found"}), "waybill.yaml: not found");
  EXPECT_EQ(to_string(Problem{"", 3, "", "odd"}), "line 3: odd");
  EXPECT_EQ(to_string(Problem{"", 0, "headers.X-A", "odd"}), "headers.X-A: odd");
  EXPECT_EQ(to_string(Problem{"", 0, "", "odd"}), "odd");
}

TEST(ParseRfc3339, KeepsTheFractionOnlyWhereItIsAskedFor) {  // O7
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:01.5Z"), Timestamp{1'000'000});
  EXPECT_EQ(parse_rfc3339_micros("1970-01-01T00:00:01.5Z"), Timestamp{1'500'000});
  EXPECT_EQ(parse_rfc3339_micros("1970-01-01T00:00:01.0000019Z"), Timestamp{1'000'001});
  EXPECT_EQ(parse_rfc3339_micros("1970-01-01T01:00:01.25+01:00"), Timestamp{1'250'000});
  EXPECT_EQ(parse_rfc3339_micros("1970-01-01T00:00:01Z"), Timestamp{1'000'000});
  EXPECT_FALSE(parse_rfc3339_micros("1970-01-01T00:00:01.5"));
}

}  // namespace
}  // namespace waybill
