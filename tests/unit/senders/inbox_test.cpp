// What was claimed on insert does not wait behind a whole claim of a backlog, and neither kind starves the other.
#include "senders/inbox.h"

#include <gtest/gtest.h>

#include <vector>

namespace waybill {
namespace {

std::vector<int> all_of(Inbox<int>& inbox) {
  std::vector<int> all;
  while (!inbox.empty()) all.push_back(inbox.pop());
  return all;
}

TEST(Inbox, TheTwoKindsGoInTurnEachInItsOrder) {  // E9
  Inbox<int> inbox;
  for (int i = 1; i <= 5; ++i) inbox.push(i, false);
  for (int i = 11; i <= 13; ++i) inbox.push(i, true);
  EXPECT_EQ(all_of(inbox), (std::vector{11, 1, 12, 2, 13, 3, 4, 5}));
  for (int i = 1; i <= 2; ++i) inbox.push(i, false);
  for (int i = 11; i <= 14; ++i) inbox.push(i, true);
  EXPECT_EQ(all_of(inbox), (std::vector{11, 1, 12, 2, 13, 14}));
}

TEST(Inbox, OneThatIsRemovedIsNotThereAnyMore) {
  Inbox<int> inbox;
  inbox.push(1, false);
  inbox.push(2, false);
  inbox.push(11, true);
  const auto remove = [&](int which) { return inbox.remove([which](int one) { return one == which; }); };
  EXPECT_TRUE(remove(11));
  EXPECT_TRUE(remove(1));
  EXPECT_FALSE(remove(1));
  EXPECT_EQ(all_of(inbox), (std::vector{2}));
}

}  // namespace
}  // namespace waybill
