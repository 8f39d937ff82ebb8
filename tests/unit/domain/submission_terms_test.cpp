// What a submission asks for itself: kept as text and read again.  Q4
#include "domain/submission_terms.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

constexpr Timestamp kNow{1'700'000'000'000'000};

TEST(SubmissionTerms, NothingToKeepIsNone) {  // Q4
  EXPECT_EQ(terms_of({}), nullptr);
  EXPECT_EQ(terms_from("0 0"), nullptr);
  EXPECT_EQ(terms_from(""), nullptr);
}

TEST(SubmissionTerms, AreReadAsTheyStandInTheColumn) {  // Q4
  const auto both = terms_from("1700000000000000 1700000001000000");
  ASSERT_NE(both, nullptr);
  EXPECT_EQ(both->not_before, kNow);
  EXPECT_EQ(both->expires, kNow + Seconds(1));
  EXPECT_EQ(both->producer, "");
  const auto by = terms_from("0 1700000000000000 role the shop");
  ASSERT_NE(by, nullptr);
  EXPECT_FALSE(by->not_before);
  EXPECT_EQ(by->expires, kNow);
  EXPECT_EQ(by->producer, "role the shop");
}

TEST(SubmissionTerms, DeadlinesCountFromTheLaterOfCreationAndItsTime) {  // Q4
  EXPECT_EQ(begins_at(kNow, nullptr), kNow);
  EXPECT_EQ(begins_at(kNow, terms_of({.not_before = kNow + Seconds(5), .expires = {}, .producer = {}})), kNow + Seconds(5));
  EXPECT_EQ(begins_at(kNow, terms_of({.not_before = kNow - Seconds(5), .expires = {}, .producer = {}})), kNow);
}

TEST(SubmissionTerms, ExpireAtTheirMomentAndNotBefore) {  // Q4
  const auto terms = terms_of({.not_before = {}, .expires = kNow, .producer = {}});
  EXPECT_FALSE(has_expired(terms, kNow - Micros(1)));
  EXPECT_TRUE(has_expired(terms, kNow));
  EXPECT_FALSE(has_expired(nullptr, kNow));
}

TEST(SubmissionTerms, AreRefusedMoreThanAYearAhead) {  // Q4
  const auto ahead = [](Seconds by) {
    return terms_fault(terms_of({.not_before = kNow + by, .expires = {}, .producer = {}}), kNow);
  };
  EXPECT_EQ(ahead(Seconds(366 * 86'400)), "");
  EXPECT_EQ(ahead(Seconds(366 * 86'400 + 1)), "notBefore must not be more than 366 days ahead");
  EXPECT_EQ(terms_fault(terms_of({.not_before = {}, .expires = kNow + Seconds(367 * 86'400), .producer = {}}), kNow),
            "expiresAt must not be more than 366 days ahead");
  EXPECT_EQ(terms_fault(nullptr, kNow), "");
}

}  // namespace
}  // namespace waybill
