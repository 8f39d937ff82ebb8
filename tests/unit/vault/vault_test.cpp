// Secrets at rest open for their own row and organisation, with the right master key, and not otherwise.  N1
#include "vault/vault.h"

#include <gtest/gtest.h>

#include <set>

namespace waybill {
namespace {

const Secret kOld("the old master key, of more than 32 bytes");
const Secret kNew("the new master key, of more than 32 bytes");
const Secret kValue("whsec_c2VjcmV0");
constexpr OrgId kOrg{7};
constexpr SealedFor kOwner{kOrg, "channel-1", "secret"};

std::string sealed_by(const Vault& vault, const std::string& data_key) { return *vault.seal(kOrg, 1, data_key, kOwner, kValue); }

// N1
TEST(Vault, WhatWasSealedOpens) {
  const Vault vault({kNew});
  const auto key = vault.make_data_key(kOrg, 1);
  const auto sealed = sealed_by(vault, key.sealed);
  EXPECT_EQ(sealed.find(kValue.expose()), std::string::npos);
  const auto opened = vault.open(kOrg, 1, key.sealed, kOwner, sealed);
  ASSERT_TRUE(opened) << opened.error().what;
  EXPECT_EQ(*opened, kValue);
  EXPECT_NE(sealed_by(vault, key.sealed), sealed) << "each time with another nonce";
}

// N1
TEST(Vault, ItOpensForItsOwnerOnly) {
  const Vault vault({kNew});
  const auto key = vault.make_data_key(kOrg, 1), other_key = vault.make_data_key(kOrg, 2);
  const auto sealed = sealed_by(vault, key.sealed);
  for (const SealedFor& other : {SealedFor{OrgId{8}, "channel-1", "secret"}, SealedFor{kOrg, "channel-2", "secret"},
                                 SealedFor{kOrg, "channel-1", "other"}, SealedFor{kOrg, "channel-1secret", ""}})
    EXPECT_FALSE(vault.open(kOrg, 1, key.sealed, other, sealed)) << other.row << "/" << other.field;
  EXPECT_FALSE(vault.open(OrgId{8}, 1, key.sealed, kOwner, sealed)) << "a data key of another organisation";
  EXPECT_FALSE(vault.open(kOrg, 2, key.sealed, kOwner, sealed)) << "a data key under another number";
  EXPECT_FALSE(vault.open(kOrg, 2, other_key.sealed, kOwner, sealed)) << "another data key";
}

// N1
TEST(Vault, OneFlippedBitOpensNothing) {
  const Vault vault({kNew});
  const auto key = vault.make_data_key(kOrg, 1);
  const auto sealed = sealed_by(vault, key.sealed);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    auto flipped = sealed;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    EXPECT_FALSE(vault.open(kOrg, 1, key.sealed, kOwner, flipped)) << i;
    EXPECT_FALSE(vault.open(kOrg, 1, key.sealed, kOwner, sealed.substr(0, i))) << i;
  }
}

// N1
TEST(Vault, ARewrappedKeyNeedsTheNewMasterKeyOnly) {
  const Vault before({kOld}), during({kNew, kOld}), after({kNew});
  const auto key = before.make_data_key(kOrg, 1);
  const auto sealed = sealed_by(before, key.sealed);
  EXPECT_EQ(*during.open(kOrg, 1, key.sealed, kOwner, sealed), kValue);
  const auto locked = after.open(kOrg, 1, key.sealed, kOwner, sealed);
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().kind, Error::Kind::locked);
  EXPECT_FALSE(after.knows(key.master));
  EXPECT_TRUE(during.knows(key.master));

  const auto fresh = during.rewrap(kOrg, 1, key.sealed);
  ASSERT_TRUE(fresh);
  EXPECT_TRUE(after.knows(fresh->master));
  EXPECT_EQ(*after.open(kOrg, 1, fresh->sealed, kOwner, sealed), kValue);
  EXPECT_FALSE(before.open(kOrg, 1, fresh->sealed, kOwner, sealed));
}

// N1
TEST(Vault, WithoutAMasterKeyNothingOpens) {
  const Vault vault;
  EXPECT_FALSE(vault.has_key());
  const auto opened = vault.open(kOrg, 1, "", kOwner, "");
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().what.find("notify.key"), std::string::npos);
}

// N1
TEST(Vault, SigningSecretsDiffer) {
  std::set<std::string> all;
  for (int i = 0; i < 100; ++i) all.insert(make_signing_secret().expose());
  EXPECT_EQ(all.size(), 100u);
  for (const auto& one : all) EXPECT_TRUE(one.starts_with("whsec_") && one.size() == 6 + 44) << one;
}

}  // namespace
}  // namespace waybill
