// Bearer tokens: known by their hash, both answers remembered for a second, wrong ones limited for each address.  M1 S1 S3 S8
#include "api/token_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <set>

#include "api/token_text.h"
#include "support/call_builders.h"
#include "support/eventually.h"
#include "unit/api/read_world.h"

namespace waybill {
namespace {

using testing::eventually;
using testing::kBound;
using testing::ManualClock;
using testing::ReadWorld;

// Keeps what was said of wrong tokens.
class FailureLog final : public Log {
 public:
  void write(Level, std::string_view event, std::span<const Field> fields) override {
    const std::lock_guard lock(mutex_);
    std::string line(event);
    for (const auto& field : fields) line += " " + std::string(field.key) + "=" + field.value;
    lines_.push_back(line);
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  std::ptrdiff_t events(std::string_view name) {
    const auto all = lines();
    return std::count_if(all.begin(), all.end(), [&](const auto& line) { return line.starts_with(name); });
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

class Admitting : public ::testing::Test {
 protected:
  std::future<http::Admission> begin(const std::string& authorization, const std::string& peer = "192.0.2.1") {
    auto promise = std::make_shared<std::promise<http::Admission>>();
    auto future = promise->get_future();
    http::Request request;
    request.authorization = authorization;
    request.peer = peer;
    check(request, [promise](http::Admission answer) { promise->set_value(std::move(answer)); });
    return future;
  }
  static http::Admission end(std::future<http::Admission>& future) {
    if (future.wait_for(kBound) == std::future_status::ready) return future.get();
    ADD_FAILURE() << "no answer came";
    return std::nullopt;
  }
  http::Admission admission(const std::string& authorization, const std::string& peer = "192.0.2.1") {
    auto future = begin(authorization, peer);
    return end(future);
  }
  static bool is_nobody(const http::Admission& answer) {
    return std::holds_alternative<std::optional<http::Principal>>(answer) && !std::get<std::optional<http::Principal>>(answer);
  }
  static std::string name_of(const http::Admission& answer) {
    const auto* principal = std::get_if<std::optional<http::Principal>>(&answer);
    return principal && *principal ? (*principal)->name : "<nobody>";
  }
  // 200 for somebody, 401 for nobody.
  static int status(const http::Admission& answer) {
    if (const auto* response = std::get_if<http::Response>(&answer)) return response->status;
    return is_nobody(answer) ? 401 : 200;
  }
  int wrong(int number, const std::string& peer) { return status(admission("Bearer wbt_wrong" + std::to_string(number), peer)); }

  ManualClock clock;
  ReadWorld world;
  FailureLog log;
  Metrics metrics;
  TokenCheck check{world.token_sessions(1), clock, {.failed_sign_ins = 10}, log, metrics};
  void SetUp() override { check.start(); }
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
  EXPECT_EQ(principal->scope, nullptr);
}

// S8
TEST_F(Admitting, ATokenBringsItsScope) {
  TokenView view{{7}, "ci", "admin", "acme"};
  view.targets = {"sms"};
  view.paths = {"/v1/intents"};
  world.allow("wbt_a", view);
  for (int i = 0; i < 2; ++i) {  // also from memory
    const auto answer = admission("Bearer wbt_a");
    const auto& principal = std::get<std::optional<http::Principal>>(answer);
    ASSERT_TRUE(principal && principal->scope);
    EXPECT_EQ(principal->scope->targets, view.targets);
    EXPECT_EQ(principal->scope->paths, view.paths);
  }
}

// N3, S3: somebody who is known, and told why
TEST_F(Admitting, ATokenOfADisabledOrganisationIsForbiddenWithinASecond) {
  TokenView view{{7}, "ci", "admin", "acme"};
  world.allow("wbt_a", view);
  EXPECT_EQ(status(admission("Bearer wbt_a")), 200);
  view.org_disabled = true;
  world.allow("wbt_a", view);
  clock.pass(Seconds(1));
  for (int i = 0; i < 2; ++i) {
    const auto answer = admission("Bearer wbt_a");
    ASSERT_EQ(status(answer), 403);
    EXPECT_NE(std::get<http::Response>(answer).body.find("organisation_disabled"), std::string::npos);
  }
  world.allow("wbt_a", {{7}, "ci", "admin", "acme"});
  clock.pass(Seconds(1));
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci");
}

// S8: and a number decides which organisation is `default`, not a name
TEST_F(Admitting, AnOperatorIsOneByItsRoleAndOnlyInTheOrganisationDefault) {
  world.allow("wbt_operator", {kDefaultOrg, "root", "operator"});
  world.allow("wbt_owner", {kDefaultOrg, "ann", "owner"});
  world.allow("wbt_strange", {{7}, "eve", "operator", "default"});
  const auto role = [&](const char* token) {
    const auto answer = admission(std::string("Bearer ") + token);
    return std::get<std::optional<http::Principal>>(answer)->role;
  };
  EXPECT_EQ(role("wbt_operator"), http::Role::operator_);
  EXPECT_EQ(role("wbt_owner"), http::Role::owner);
  EXPECT_EQ(role("wbt_strange"), http::Role::none);
}

// S5
TEST_F(Admitting, TheSchemeIsReadInAnyLetterCase) {
  world.allow("wbt_a", {kDefaultOrg, "ci", "member"});
  for (const char* header : {"Bearer wbt_a", "bearer wbt_a", "BEARER wbt_a", "bEARER   wbt_a"})
    EXPECT_EQ(name_of(admission(header)), "ci") << header;
}

TEST_F(Admitting, WhatIsNoBearerTokenIsNobodyWithoutAskingTheDatabase) {
  for (const char* header :
       {"", "Basic d2J0X2E6", "bearer", "Bearer", "Bearer ", "Bearer   ", "Bearers x", "Bearer\twbt_a", "wbt_a"})
    EXPECT_TRUE(is_nobody(admission(header))) << header;
  EXPECT_EQ(world.token_calls, 0);
}

// S3
TEST_F(Admitting, AnUnknownTokenIsAskedAboutOnceASecond) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_nobody(admission("Bearer wbt_a")));
  EXPECT_EQ(world.token_calls, 1);
  world.allow("wbt_a", {kDefaultOrg, "ci", "member"});
  clock.pass(Seconds(1));
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci") << "one that was made meanwhile works within a second";
}

// S3
TEST_F(Admitting, AKnownTokenIsRememberedForASecond) {
  world.allow("wbt_a", {kDefaultOrg, "ci", "member"});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci");
  EXPECT_EQ(world.token_calls, 1);
  clock.pass(Seconds(1));
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci");
  EXPECT_EQ(world.token_calls, 2);
}

// S3
TEST_F(Admitting, ARevokedTokenIsRefusedWithinASecond) {
  TokenView view{kDefaultOrg, "ci", "member"};
  world.allow("wbt_a", view);
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci");
  view.state = TokenView::State::revoked;
  world.allow("wbt_a", view);
  clock.pass(Seconds(1) - Micros(1));
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci");
  clock.pass(Micros(1));
  EXPECT_TRUE(is_nobody(admission("Bearer wbt_a")));
  EXPECT_TRUE(is_nobody(admission("Bearer wbt_a")));
}

// S3: counted from when the database was asked, however long it took to answer
TEST_F(Admitting, ASlowAnswerIsNotRememberedForLonger) {
  TokenView view{kDefaultOrg, "ci", "member"};
  world.allow("wbt_a", view);
  world.hold_tokens();
  auto first = begin("Bearer wbt_a");
  ASSERT_TRUE(eventually([&] { return world.token_calls == 1; }));
  clock.pass(Seconds(1));
  world.release_tokens();
  EXPECT_EQ(name_of(end(first)), "ci");
  view.state = TokenView::State::revoked;
  world.allow("wbt_a", view);
  EXPECT_TRUE(is_nobody(admission("Bearer wbt_a")));
}

// S3: a request that comes a second after the question must not take its answer
TEST_F(Admitting, WhoComesASecondLaterIsAskedAboutAgain) {
  TokenView view{kDefaultOrg, "ci", "member"};
  world.allow("wbt_a", view);
  world.hold_tokens();
  auto first = begin("Bearer wbt_a"), same = begin("Bearer wbt_a");
  ASSERT_TRUE(eventually([&] { return world.token_calls == 1; }));
  clock.pass(Seconds(1));
  auto later = begin("Bearer wbt_a");
  world.release_tokens();
  EXPECT_EQ(name_of(end(first)), "ci");
  EXPECT_EQ(name_of(end(same)), "ci");
  EXPECT_EQ(name_of(end(later)), "ci");
  EXPECT_EQ(world.token_calls, 2);
}

// S1: a thousand requests with one token are one question
TEST_F(Admitting, RequestsWithOneTokenShareAQuestion) {
  world.allow("wbt_a", {kDefaultOrg, "ci", "member"});
  world.hold_tokens();
  std::vector<std::future<http::Admission>> all;
  for (int i = 0; i < 1000; ++i) all.push_back(begin("Bearer wbt_a"));
  world.release_tokens();
  for (auto& one : all) EXPECT_EQ(name_of(end(one)), "ci");
  EXPECT_EQ(world.token_calls, 1);
}

// S8
TEST_F(Admitting, AnExpiredTokenIsRefusedAtOnce) {
  TokenView view{kDefaultOrg, "ci", "member"};
  view.lasts = Millis(300);
  world.allow("wbt_a", view);
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci");
  view.state = TokenView::State::expired;
  world.allow("wbt_a", view);
  clock.pass(Millis(300) - Micros(1));
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci");
  clock.pass(Micros(1));
  EXPECT_TRUE(is_nobody(admission("Bearer wbt_a")));
}

// S3: 401 would tell a client to throw its token away
TEST_F(Admitting, ADatabaseThatIsAwayIsNoVerdictAboutTheToken) {
  world.allow("wbt_a", {kDefaultOrg, "ci", "member"});
  world.away = true;
  for (int i = 0; i < 50; ++i) EXPECT_EQ(status(admission("Bearer wbt_a")), 503);
  EXPECT_EQ(log.events("auth.unavailable"), 1) << "said once";
  world.away = false;
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci") << "and nobody was counted as wrong";
  world.away = true;
  EXPECT_EQ(name_of(admission("Bearer wbt_a")), "ci") << "remembered for a moment";
  clock.pass(Seconds(10));
  EXPECT_EQ(status(admission("Bearer wbt_a")), 503);
  EXPECT_EQ(log.events("auth.unavailable"), 2) << "and again while it lasts";
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

// S3
TEST_F(Admitting, AnAddressThatTriesTooMuchIsAnswered429WithoutAQuestion) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(wrong(i, "192.0.2.1"), 401);
  const int asked = world.token_calls;
  const auto refused = admission("Bearer wbt_wrong", "192.0.2.1");
  ASSERT_EQ(status(refused), 429);
  const auto& headers = std::get<http::Response>(refused).headers;
  ASSERT_EQ(headers.size(), 1u);
  EXPECT_EQ(headers[0], (std::pair<std::string, std::string>{"Retry-After", "6"}));
  EXPECT_EQ(world.token_calls, asked);
  EXPECT_EQ(wrong(0, "192.0.2.2"), 401) << "another address";
  clock.pass(Seconds(6));
  EXPECT_EQ(wrong(11, "192.0.2.1"), 401);
  EXPECT_EQ(wrong(12, "192.0.2.1"), 429);
}

// S3: one wrong token again and again is as many failures
TEST_F(Admitting, ARememberedWrongTokenCountsAsWell) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(wrong(0, "192.0.2.1"), 401);
  EXPECT_EQ(wrong(0, "192.0.2.1"), 429);
  EXPECT_EQ(world.token_calls, 1);
}

// S3: clients of one proxy share its address
TEST_F(Admitting, GoodTokensWorkWhileTheirAddressIsRefused) {
  world.allow("wbt_a", {kDefaultOrg, "a", "member"});
  EXPECT_EQ(status(admission("Bearer wbt_a", "192.0.2.1")), 200);
  for (int i = 0; i < 30; ++i) wrong(i, "192.0.2.1");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(wrong(100, "192.0.2.1"), 429);
    EXPECT_EQ(status(admission("Bearer wbt_a", "192.0.2.1")), 200);
    clock.pass(Seconds(1));  // it is asked about again
  }
  world.revoke("wbt_a");
  EXPECT_EQ(status(admission("Bearer wbt_a", "192.0.2.1")), 401);
  for (int i = 0; i < 30; ++i) wrong(i, "192.0.2.1");
  EXPECT_EQ(status(admission("Bearer wbt_a", "192.0.2.1")), 429) << "and is one of the wrong ones from then on";
}

// S3: who has one IPv6 address has 2^64
TEST_F(Admitting, AddressesOfOneNetworkAreOne) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(wrong(i, "2001:db8:1:2::" + std::to_string(i + 1)), 401);
  EXPECT_EQ(wrong(11, "2001:db8:1:2:3:4:5:6"), 429);
  EXPECT_EQ(wrong(12, "2001:db8:1:3::1"), 401);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(wrong(i, "::ffff:192.0.2." + std::to_string(i)), 401) << "IPv4 in another dress";
  EXPECT_EQ(wrong(11, "::ffff:192.0.2.200"), 401);
}

// S3: the memory of wrong tokens and of addresses is bounded, and a flood pushes nobody out who is known
TEST_F(Admitting, AFloodOfWrongTokensFromEverywhereLeavesTheKnownAlone) {
  world.allow("wbt_a", {kDefaultOrg, "a", "member"});
  EXPECT_EQ(status(admission("Bearer wbt_a")), 200);
  std::vector<std::future<http::Admission>> all;
  for (int i = 0; i < 12'000; ++i) {
    all.push_back(
        begin("Bearer wbt_wrong" + std::to_string(i), "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250)));
    if (all.size() == 1000) {
      for (auto& one : all) EXPECT_EQ(status(end(one)), 401);
      all.clear();
    }
  }
  const int asked = world.token_calls;
  EXPECT_EQ(status(admission("Bearer wbt_a")), 200);
  EXPECT_EQ(world.token_calls, asked);
}

// S3
TEST_F(Admitting, TheLogTellsOfWrongTokensAndNeverHasThem) {
  const auto token = make_token();
  TokenView view{kDefaultOrg, "ci", "member"};
  view.state = TokenView::State::revoked;
  view.id = "0123456789ab";
  world.allow("wbt_old", view);
  admission("Bearer " + token.text, "192.0.2.1");
  admission("Bearer wbt_old", "192.0.2.2");
  for (int i = 0; i < 12; ++i) wrong(i, "192.0.2.1");
  clock.pass(Seconds(10));
  wrong(100, "192.0.2.1");
  const auto said = log.lines();
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[0], "auth.failed peer=192.0.2.1 token=" + token.id + " reason=unknown count=1");
  EXPECT_EQ(said[1], "auth.failed peer=192.0.2.2 token=0123456789ab reason=revoked count=1");
  EXPECT_EQ(said[2], "auth.failed peer=192.0.2.1 token= reason=unknown count=13");
  for (const auto& line : said) EXPECT_EQ(line.find(token.text.substr(17)), std::string::npos);
  const auto text = metrics.text();
  EXPECT_NE(text.find("submission_failed_sign_ins_total{reason=\"unknown\"} 11\n"), std::string::npos) << text;
  EXPECT_NE(text.find("submission_failed_sign_ins_total{reason=\"limited\"} 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("submission_failed_sign_ins_total{reason=\"revoked\"} 1\n"), std::string::npos) << text;
}

// S3
TEST_F(Admitting, AFloodFromManyAddressesDoesNotFillTheLog) {
  for (int i = 0; i < 100; ++i) wrong(i, "192.0.2." + std::to_string(i));
  EXPECT_EQ(log.lines().size(), 10u);
  clock.pass(Seconds(10));
  wrong(0, "192.0.2.200");
  EXPECT_EQ(log.lines().size(), 11u);
}

// S8
TEST_F(Admitting, TheLastUseIsStoredOnceAMinuteAndNotLostWithTheDatabase) {
  const auto tokens = world.token_sessions(1);
  TokenView view{kDefaultOrg, "ci", "member"};
  view.number = 5;
  world.allow("wbt_a", view);
  const auto note = [&] { return check.note_uses(*tokens[0]).has_value(); };
  EXPECT_TRUE(note());
  EXPECT_EQ(world.uses().size(), 0u);
  admission("Bearer wbt_a");
  clock.pass(Seconds(3));
  world.away = true;
  EXPECT_FALSE(note());
  world.away = false;
  EXPECT_TRUE(note());
  ASSERT_EQ(world.uses().size(), 1u);
  EXPECT_EQ(world.uses()[0].number, 5);
  EXPECT_EQ(world.uses()[0].ago, Micros(Seconds(3)));
  for (int i = 0; i < 56; ++i, clock.pass(Seconds(1))) {
    admission("Bearer wbt_a");
    EXPECT_TRUE(note());
  }
  EXPECT_EQ(world.uses().size(), 1u);
  clock.pass(Seconds(2));
  admission("Bearer wbt_a");
  EXPECT_TRUE(note());
  EXPECT_EQ(world.uses().size(), 2u);
  clock.pass(Seconds(1000));
  EXPECT_TRUE(note());
  EXPECT_EQ(world.uses().size(), 2u) << "nobody used it";
}

TEST(RoleFrom, KnowsTheFourWords) {
  EXPECT_EQ(role_from("member"), http::Role::member);
  EXPECT_EQ(role_from("admin"), http::Role::admin);
  EXPECT_EQ(role_from("owner"), http::Role::owner);
  EXPECT_EQ(role_from("operator"), http::Role::operator_);
  for (const char* word : {"", "none", "Admin", "root"}) EXPECT_FALSE(role_from(word)) << word;
}

}  // namespace
}  // namespace waybill
