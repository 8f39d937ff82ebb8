// A map of what was used last.  S3
#include "api/recent.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

// S3
TEST(RecentMap, LosesWhatWasNotUsedForTheLongestTime) {
  Recent<int> map(3);
  for (int i = 0; i < 3; ++i) map.put(std::to_string(i), i);
  ASSERT_NE(map.find("0"), nullptr);
  map.put("3", 3);
  EXPECT_EQ(map.find("1"), nullptr);
  for (int i : {0, 2, 3}) {
    ASSERT_NE(map.find(std::to_string(i)), nullptr) << i;
    EXPECT_EQ(*map.find(std::to_string(i)), i);
  }
  EXPECT_EQ(map.size(), 3u);
}

TEST(RecentMap, ReplacesAndErases) {
  Recent<int> map(2);
  map.put("a", 1);
  map.put("a", 2);
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(*map.find("a"), 2);
  map.erase("a");
  map.erase("a");
  EXPECT_EQ(map.find("a"), nullptr);
  for (int i = 0; i < 1000; ++i) map.put("a key that is longer than a short string " + std::to_string(i), i);
  EXPECT_EQ(map.size(), 2u);
}

}  // namespace
}  // namespace waybill
