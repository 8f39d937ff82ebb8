// Every purpose that a session is opened for has a row of its own.  E11
#include "store/pg/session_limits.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

TEST(SessionLimitsOf, WhatUpkeepDoesTakesItsTimeAndWrites) {
  const DatabaseTimeouts timeouts;
  for (const auto* purpose : {"tasks", "rescue", "suspects", "alerts"}) {
    EXPECT_EQ(limits_of(purpose, timeouts).statement, timeouts.maintenance) << purpose;
    EXPECT_TRUE(limits_of(purpose, timeouts).writes) << purpose << ": it is of no use on a standby";
  }
  EXPECT_FALSE(limits_of("read", timeouts).writes);
}

}  // namespace
}  // namespace waybill
