// Bearer tokens: known by their hash, remembered for a moment, refused within two seconds of being revoked.  M1
#include "api/token_check.h"

#include <gtest/gtest.h>

#include <future>
#include <set>

#include "support/call_builders.h"
#include "support/eventually.h"
#include "unit/api/read_world.h"

namespace waybill {
namespace {

using testing::kBound;
using testing::ManualClock;
using testing::ReadWorld;

class Admitting : public ::testing::Test {
 protected:
  http::Admission admission(const std::string& authorization) {
    auto promise = std::make_shared<std::promise<http::Admission>>();
    auto future = promise->get_future();
    http::Request request;
    request.authorization = authorization;
    check(request, [promise](http::Admission answer) { promise->set_value(std::move(answer)); });
    if (future.wait_for(kBound) != std::future_status::ready) {
      ADD_FAILURE() << "no answer came";
      return std::nullopt;
    }
    return future.get();
  }
  static bool is_nobody(const http::Admission& answer) {
    return std::holds_alternative<std::optional<http::Principal>>(answer) && !std::get<std::optional<http::Principal>>(answer);
  }
  static std::string name_of(const http::Admission& answer) {
    const auto* principal = std::get_if<std::optional<http::Principal>>(&answer);
    return principal && *principal ? (*principal)->name : "<nobody>";
  }

  ManualClock clock;
  ReadWorld world;
  ReadPool pool{world.sessions(1)};
  TokenCheck check{pool, clock};
  void SetUp() override { pool.start(); }
};

TEST_F(Admitting, AKnownTokenBringsItsOrganisationAndRole) {
  world.allow("wbt_a", {{7}, "ci", "admin", "acme"});
  const auto answer = admission("Bearer wbt_a");
  const auto& principal = std::get<std::optional<http::Principal>>(answer);
  ASSERT_TRUE(principal);
  EXPECT_EQ(principal->org, OrgId{7});
  EXPECT_EQ(principal->role, http::Role::admin);
  EXPECT_EQ(principal->name, "ci");
  EXPECT_EQ(principal->org_name, "acme");
}

// N3: somebody who is known, and told why; asked about again each time, so that it ends with the organisation's being enabled
TEST_F(Admitting, ATokenOfADisabledOrganisationIsForbidden) {
  world.allow("wbt_a", {{7}, "ci", "admin", "acme", true});
  for (int i = 0; i < 2; ++i) {
    const auto answer = admission("Bearer wbt_a");
    ASSERT_TRUE(std::holds_alternative<http::Response>(answer));
    EXPECT_EQ(std::get<http::Response>(answer).status, 403);
    EXPECT_NE(std::get<http::Response>(answer).body.find("organisation_disabled"), std::string::npos);
  }
  world.allow("wbt_a", {{7}, "ci", "admin", "acme"});
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci");
}

// N3
TEST_F(Admitting, AnOwnerOfTheDefaultOrganisationIsAnOperatorAndNobodyElseIs) {
  world.allow("wbt_operator", {kDefaultOrg, "root", "owner"});
  world.allow("wbt_admin", {kDefaultOrg, "ann", "admin"});
  world.allow("wbt_owner", {{7}, "eve", "owner", "default"});  // its number decides, not its name
  const auto role = [&](const char* token) {
    const auto answer = admission(std::string("Bearer ") + token);
    return std::get<std::optional<http::Principal>>(answer)->role;
  };
  EXPECT_EQ(role("wbt_operator"), http::Role::operator_);
  EXPECT_EQ(role("wbt_admin"), http::Role::admin);
  EXPECT_EQ(role("wbt_owner"), http::Role::owner);
}

TEST_F(Admitting, WhatIsNoBearerTokenIsNobodyWithoutAskingTheDatabase) {
  for (const char* header : {"", "Basic d2J0X2E6", "bearer", "Bearer", "wbt_a"})
    EXPECT_TRUE(is_nobody(admission(header))) << header;
  EXPECT_EQ(world.token_calls, 0);
}

TEST_F(Admitting, AnUnknownTokenIsNobodyAndIsNotRemembered) {
  EXPECT_TRUE(is_nobody(admission("Bearer wbt_a")));
  world.allow("wbt_a", {kDefaultOrg, "ci", "member"});
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci") << "a token that was just made works at once";
}

TEST_F(Admitting, AKnownTokenIsRememberedForTwoSeconds) {
  world.allow("wbt_a", {kDefaultOrg, "ci", "member"});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci");
  EXPECT_EQ(world.token_calls, 1);
  clock.pass(Seconds(2));
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci");
  EXPECT_EQ(world.token_calls, 2);
}

TEST_F(Admitting, ARevokedTokenIsRefusedWithinTwoSeconds) {
  world.allow("wbt_a", {kDefaultOrg, "ci", "member"});
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci");
  world.revoke("wbt_a");
  clock.pass(Seconds(2) - Micros(1));
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci");
  clock.pass(Micros(1));
  EXPECT_TRUE(is_nobody(admission("Bearer wbt_a")));
  EXPECT_TRUE(is_nobody(admission("Bearer wbt_a")));
}

TEST_F(Admitting, ADatabaseThatIsAwayIsNoVerdictAboutTheToken) {
  world.allow("wbt_a", {kDefaultOrg, "ci", "member"});
  world.away = true;
  const auto answer = admission("Bearer wbt_a");
  ASSERT_TRUE(std::holds_alternative<http::Response>(answer));
  EXPECT_EQ(std::get<http::Response>(answer).status, 503);
  world.away = false;
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci");
  world.away = true;
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci") << "remembered for a moment";
}

TEST_F(Admitting, TokensDoNotMixUp) {
  world.allow("wbt_a", {kDefaultOrg, "a", "member"});
  world.allow("wbt_b", {{2}, "b", "owner"});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(name_of(admission("Bearer wbt_a")), "a");
    EXPECT_EQ(name_of(admission("Bearer wbt_b")), "b");
    EXPECT_TRUE(is_nobody(admission("Bearer wbt_ab")));
  }
}

TEST_F(Admitting, ARoleThatWeDoNotKnowMayNothing) {
  world.allow("wbt_a", {kDefaultOrg, "ci", "emperor"});
  const auto answer = admission("Bearer wbt_a");
  EXPECT_EQ(std::get<std::optional<http::Principal>>(answer)->role, http::Role::none);
}

TEST(MakeToken, IsLongPlainAndNeverTheSame) {
  std::set<std::string> all;
  for (int i = 0; i < 200; ++i) {
    const auto token = make_token();
    EXPECT_EQ(token.size(), 47u);
    EXPECT_TRUE(token.starts_with("wbt_"));
    EXPECT_EQ(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), std::string::npos);
    all.insert(token);
  }
  EXPECT_EQ(all.size(), 200u);
}

TEST(RoleFrom, KnowsTheThreeWords) {
  EXPECT_EQ(role_from("member"), http::Role::member);
  EXPECT_EQ(role_from("admin"), http::Role::admin);
  EXPECT_EQ(role_from("owner"), http::Role::owner);
  for (const char* word : {"", "none", "Admin", "root"}) EXPECT_FALSE(role_from(word)) << word;
}

}  // namespace
}  // namespace waybill
