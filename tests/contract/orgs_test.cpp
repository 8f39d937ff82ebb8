// Organisations: made, listed, disabled.  N3
#include "contract/store_world.h"
#include "domain/idempotency.h"

namespace waybill::testing {
namespace {

class Orgs : public StoreWorld {
 protected:
  std::unique_ptr<OrgStore> orgs = make_org_store(address);

  std::vector<std::string> names(const OrgPage& page) {
    std::vector<std::string> all;
    for (const auto& org : page.organisations) all.push_back(org.name);
    return all;
  }
};

// N3
TEST_F(Orgs, DefaultIsThereAndOthersAreMadeOnce) {
  const auto first = orgs->find("default");
  ASSERT_TRUE(first);
  ASSERT_TRUE(*first);
  EXPECT_EQ((*first)->id, kDefaultOrg);
  const auto made = orgs->create("acme");
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_NE(made->id, kDefaultOrg);
  EXPECT_FALSE(made->disabled);
  EXPECT_EQ(made->weight, 1u);
  for (const char* name : {"acme", "default"}) {
    const auto again = orgs->create(name);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().kind, Error::Kind::conflict);
  }
  EXPECT_FALSE(*orgs->find("nowhere"));
}

// N3: a name stands in a path
TEST_F(Orgs, ANameIsPlain) {
  for (const std::string name : {"", "-a", "a-", "A", "a b", "a/b", "a.b", "ä", "a_b"}) {
    const auto refused = orgs->create(name);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().kind, Error::Kind::invalid);
    EXPECT_NE(refused.error().what.find("1 to 63"), std::string::npos) << refused.error().what;
  }
  EXPECT_FALSE(orgs->create(std::string(64, 'a')));
  for (const std::string& name : {std::string("a"), std::string("0"), std::string("a--b"), std::string(63, 'a')})
    EXPECT_TRUE(orgs->create(name)) << name;
}

// N3
TEST_F(Orgs, ThePagesOfTheListAreTheWholeOfIt) {
  for (const char* name : {"c", "a", "b"}) ASSERT_TRUE(orgs->create(name));
  const auto first = orgs->list("", 3);
  ASSERT_TRUE(first);
  EXPECT_EQ(names(*first), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(first->next, "c");
  const auto rest = orgs->list(first->next, 3);
  ASSERT_TRUE(rest);
  EXPECT_EQ(names(*rest), std::vector<std::string>{"default"});
  EXPECT_EQ(rest->next, "");
}

// N3
TEST_F(Orgs, ADisabledOneIsKnownWithItsTokensAndStaysDisabledSinceThen) {
  ASSERT_TRUE(orgs->create("acme"));
  const auto keys = make_token_store(address);
  ASSERT_TRUE(keys->create({.org = "acme", .name = "ci", .role = "admin", .id = "0123456789ab", .hash = sha256("secret")}));
  const auto live = keys->find(sha256("secret"));
  ASSERT_TRUE(live && *live);
  EXPECT_EQ((*live)->org_name, "acme");
  EXPECT_FALSE((*live)->org_disabled);
  const auto disabled = orgs->set_disabled("acme", true);
  ASSERT_TRUE(disabled && *disabled);
  ASSERT_TRUE((*disabled)->disabled);
  EXPECT_EQ((*disabled)->tokens, 1);
  EXPECT_TRUE((*keys->find(sha256("secret")))->org_disabled);
  const auto again = orgs->set_disabled("acme", true);
  EXPECT_EQ((*again)->disabled->micros, (*disabled)->disabled->micros);
  const auto enabled = orgs->set_disabled("acme", false);
  EXPECT_FALSE((*enabled)->disabled);
  EXPECT_FALSE((*keys->find(sha256("secret")))->org_disabled);
  EXPECT_FALSE(*orgs->set_disabled("nowhere", true));
  const auto refused = orgs->set_disabled("default", true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::conflict);
}

// N9
TEST_F(Orgs, WhatOneWeighsIsKnownToHosts) {
  ASSERT_TRUE(orgs->create("acme"));
  ASSERT_TRUE(orgs->create("beta"));
  EXPECT_TRUE(queue->weights()->empty());
  const auto acme = orgs->set_weight("acme", 3);
  ASSERT_TRUE(acme && *acme);
  EXPECT_EQ((*acme)->weight, 3u);
  EXPECT_EQ(*queue->weights(), (OrgWeights{{(*acme)->id, 3}}));
  ASSERT_TRUE(orgs->set_weight("acme", 1));
  EXPECT_TRUE(queue->weights()->empty());
  EXPECT_FALSE(*orgs->set_weight("nowhere", 2));
}

}  // namespace
}  // namespace waybill::testing
