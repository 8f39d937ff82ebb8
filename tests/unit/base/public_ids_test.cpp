// Ids of deliveries as the API shows them.  T31
#include "base/public_ids.h"

#include <gtest/gtest.h>

#include <set>

namespace waybill {
namespace {

const PublicIds kIds(Secret(std::string(16, 'k'))), kOthers(Secret(std::string(16, 'o')));

// T31
TEST(PublicIds, TellNothingOfTheOrderAndAreReadBack) {
  std::set<std::string> texts;
  for (const std::int64_t id : {std::int64_t{1}, std::int64_t{2}, std::int64_t{1024}, std::int64_t{2048}, INT64_MAX}) {
    const auto text = kIds.text(id);
    EXPECT_EQ(text.size(), 34u) << text;
    EXPECT_TRUE(text.starts_with("d_")) << text;
    EXPECT_EQ(text.find(std::to_string(id) + "d"), std::string::npos);
    EXPECT_EQ(kIds.read(text), id);
    EXPECT_EQ(kIds.text(id), text) << "the same id is the same text";
    texts.insert(text.substr(0, 10));
  }
  EXPECT_EQ(texts.size(), 5u) << "neighbours do not look alike";
}

// T31
TEST(PublicIds, NumbersThatWereShownBeforeStayValid) {
  EXPECT_EQ(kIds.read("1024"), 1024);
  EXPECT_EQ(PublicIds().read("1024"), 1024);
  EXPECT_EQ(PublicIds().text(1024), "1024");
}

// T31
TEST(PublicIds, NumbersThatNobodyWasShownAreNone) {
  const PublicIds since(Secret(std::string(16, 'k')), 2047);
  EXPECT_EQ(since.read("2047"), 2047);
  EXPECT_FALSE(since.read("2048"));
  EXPECT_EQ(since.read(since.text(4096)), 4096);
  EXPECT_EQ(since.taking_any_number().read("2048"), 2048);
}

// T31
TEST(PublicIds, WhatIsNoIdIsNone) {
  const auto good = kIds.text(7);
  auto cut = good, longer = good + "0", upper = good, changed = good;
  cut.pop_back();
  upper[5] = 'A';
  changed.back() = changed.back() == '0' ? '1' : '0';
  for (const auto& text : {cut, longer, upper, changed, std::string("d_"), std::string(), std::string("0"), std::string("-1"),
                           std::string("1x"), std::string("99999999999999999999"), kOthers.text(7)})
    EXPECT_FALSE(kIds.read(text)) << text;
  EXPECT_FALSE(PublicIds().read(good)) << "without the key";
}

}  // namespace
}  // namespace waybill
