// How points in time and problems are printed.
#include "core/time.h"

#include <gtest/gtest.h>

#include "core/problem.h"

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

TEST(ToString, AProblemNamesItsFileLineAndField) {  // M13
  EXPECT_EQ(to_string(Problem{"registry/targets.json", 12, "targets[2].policy", "unknown policy"}),
            "registry/targets.json:12: targets[2].policy: unknown policy");
  EXPECT_EQ(to_string(Problem{"waybill.yaml", 0, "", "not found"}), "waybill.yaml: not found");
  EXPECT_EQ(to_string(Problem{"", 3, "", "odd"}), "line 3: odd");
  EXPECT_EQ(to_string(Problem{"", 0, "headers.X-A", "odd"}), "headers.X-A: odd");
  EXPECT_EQ(to_string(Problem{"", 0, "", "odd"}), "odd");
}

}  // namespace
}  // namespace waybill
