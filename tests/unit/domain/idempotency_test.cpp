// The keys by which receivers know a delivery, and the shards by which we do.  M2 M17
#include "domain/idempotency.h"

#include <gtest/gtest.h>

#include <set>

namespace waybill {
namespace {

constexpr OrgId kOther{2};

TEST(IdempotencyKey, APlainReferenceOfTheDefaultOrganisationIsItsOwnKey) {  // M17
  for (const std::string& reference :
       {std::string("a"), std::string("order-2026_01"), std::string("wb"), std::string("WB_x"), std::string(64, 'z')})
    EXPECT_EQ(idempotency_key(kDefaultOrg, "intent", reference, 1), reference);
}

TEST(IdempotencyKey, EverythingElseIsHashed) {  // M17
  const std::set<std::string> references{std::string(65, 'z'),   "with space", "wb_0123", "with.dot", "a/b", "ä", "a:b", "",
                                         std::string("nul\0", 4)};
  std::set<std::string> keys;
  for (const auto& reference : references) {
    const auto key = idempotency_key(kDefaultOrg, "intent", reference, 1);
    EXPECT_EQ(key.size(), 35u) << reference;
    EXPECT_TRUE(key.starts_with("wb_")) << key;
    EXPECT_EQ(key.find_first_not_of("0123456789abcdef", 3), std::string::npos) << key;
    keys.insert(key);
  }
  EXPECT_EQ(keys.size(), references.size());
}

TEST(IdempotencyKey, OrganisationKindAndOrderEachMakeAnotherKey) {
  const std::set<std::string> keys{idempotency_key(kDefaultOrg, "intent", "a", 1), idempotency_key(kOther, "intent", "a", 1),
                                   idempotency_key(kDefaultOrg, "form", "a", 1), idempotency_key(kDefaultOrg, "intent", "a", 2),
                                   idempotency_key(kOther, "form", "a", 2)};
  EXPECT_EQ(keys.size(), 5u);
}

TEST(IdempotencyKey, PartsCannotBeShiftedIntoEachOther) {
  EXPECT_NE(idempotency_key({11}, "intent", "a", 1), idempotency_key({1}, "1intent", "a", 1));
  EXPECT_NE(idempotency_key(kOther, "intent", "1:a", 1), idempotency_key(kOther, "intent", "a", 11));
}

TEST(IdempotencyKey, NobodyCanNameTheKeyOfAnotherOrganisation) {
  const auto theirs = idempotency_key(kOther, "intent", "a", 1);
  EXPECT_NE(idempotency_key(kDefaultOrg, "intent", theirs, 1), theirs);
}

// These values are at receivers already: a change would make them take a repeated message for a new one.
TEST(IdempotencyKey, KeepsItsValuesForEver) {  // M17
  EXPECT_EQ(idempotency_key(kDefaultOrg, "intent", "with space", 1),
            "wb_" + to_hex(as_view(sha256("1:intent:1:with space")).substr(0, 16)));
  EXPECT_EQ(idempotency_key(kDefaultOrg, "intent", "with space", 1), "wb_549a87c97d137b9c68d0966e530edad8");
  EXPECT_EQ(idempotency_key(kOther, "intent", "order-1", 1), "wb_9343993abc7ab2d776462ae089b41123");
}

TEST(Sha256, IsTheOneOfTheStandard) {
  EXPECT_EQ(to_hex(as_view(sha256("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(as_view(sha256(""))), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(std::string_view("\x00\x7f\x80\xff", 4)), "007f80ff");
}

TEST(ShardFor, IsWithinRangeStableAndUsesEveryShard) {  // M2
  for (const int shards : {1, 2, 4, 16, 1024}) {
    std::set<Shard> used;
    for (int i = 0; i < 20'000; ++i) {
      const auto shard = shard_for(kDefaultOrg, "ref-" + std::to_string(i), shards);
      ASSERT_GE(shard, 0);
      ASSERT_LT(shard, shards);
      used.insert(shard);
    }
    EXPECT_EQ(used.size(), static_cast<std::size_t>(shards));
  }
}

// A submission is looked for in the shard that this function names: a change would lose all that is stored.
TEST(ShardFor, KeepsItsValuesForEver) {  // M2
  EXPECT_EQ(shard_for(kDefaultOrg, "order-1", 1024), 545);
  EXPECT_EQ(shard_for(kDefaultOrg, "order-2", 1024), 221);
  EXPECT_EQ(shard_for(kOther, "order-1", 1024), 549);
  EXPECT_EQ(shard_for(kDefaultOrg, "anything", 1), 0);
}

TEST(ShardOf, AnIdCarriesItsShard) {
  EXPECT_EQ(shard_of(DeliveryId{5 * 1024 + 1023}), 1023);
  EXPECT_EQ(shard_of(SubmissionId{5 * 1024}), 0);
}

}  // namespace
}  // namespace waybill
