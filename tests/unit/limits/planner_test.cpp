// Who is next: every limit holds, what is free is shared evenly, and nobody starves.  M17 M18 E9 E10 E12
#include "limits/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "unit/limits/planner_world.h"

namespace waybill {
namespace {

using testing::PlannerWorld;
using Taken = std::map<RouteId, std::size_t>;

constexpr Limits kWide{.in_flight = 100, .per_target = 1000, .per_org = 1000, .per_host_name = 1000};

class Planning : public ::testing::Test {
 protected:
  PlannerWorld& world(const Limits& limits = kWide) {
    if (!world_) world_ = std::make_unique<PlannerWorld>(limits);
    return *world_;
  }

 private:
  std::unique_ptr<PlannerWorld> world_;
};

std::size_t sum(const Taken& taken) {
  std::size_t all = 0;
  for (const auto& [id, count] : taken) all += count;
  return all;
}

// ---- limits ----

TEST_F(Planning, OneRouteAloneMayTakeAllThatIsFree) {
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  EXPECT_EQ(w.claim(30), (Taken{{a, 30}})) << "not more than a batch";
  EXPECT_EQ(w.claim(), (Taken{{a, 70}}));
  EXPECT_TRUE(w.claim().empty());
  EXPECT_EQ(w.planner().held(), 100u);
  w.release(a, 40);
  EXPECT_EQ(w.claim(), (Taken{{a, 40}}));
}

TEST_F(Planning, WhatIsFreeIsSharedEvenly) {
  auto& w = world();
  const std::vector all{w.route("a"), w.route("b"), w.route("c"), w.route("d")};
  w.due(all);
  EXPECT_EQ(w.claim(), (Taken{{all[0], 25}, {all[1], 25}, {all[2], 25}, {all[3], 25}}));
}

TEST_F(Planning, WhatOneCannotUseGoesToTheOthers) {
  auto& w = world({.in_flight = 30, .per_target = 12, .per_org = 1000, .per_host_name = 1000});
  const auto small = w.route("small"), b = w.route("b"), c = w.route("c");
  w.due({small, b, c});
  auto plan = w.planner().plan(1000, w.clock.now());
  EXPECT_EQ(sum(w.carry_out(plan, 6)), 18u) << "six of each";
  w.due({b, c});  // they have more
  EXPECT_EQ(w.claim(), (Taken{{b, 6}, {c, 6}}));
}

TEST_F(Planning, WhatFallsFreeGoesToWhoHoldsLeast) {
  auto& w = world();
  const auto slow = w.route("slow"), also_slow = w.route("also slow"), fresh = w.route("fresh");
  w.due({slow, also_slow});
  EXPECT_EQ(w.claim(), (Taken{{slow, 50}, {also_slow, 50}}));
  w.due({fresh});
  EXPECT_TRUE(w.claim().empty());
  w.release(slow, 1);
  EXPECT_EQ(w.claim(), (Taken{{fresh, 1}})) << "a backlog of slow targets does not keep a third one out";
  w.release(slow, 39);
  EXPECT_EQ(w.claim(), (Taken{{slow, 15}, {fresh, 24}}));
}

TEST_F(Planning, ATargetHasItsLimitAcrossItsRoutes) {
  auto& w = world({.in_flight = 1000, .per_target = 10, .per_org = 1000, .per_host_name = 1000});
  const auto old_contract = w.route("a"), new_contract = w.route("a"), other_org = w.route("a", {.org = {2}});
  w.due({old_contract, new_contract, other_org});
  const auto taken = w.claim();
  EXPECT_EQ(taken.at(old_contract), 5u);
  EXPECT_EQ(taken.at(new_contract), 5u);
  EXPECT_EQ(taken.at(other_org), 10u) << "the same name in another organisation is another target";
}

TEST_F(Planning, AnOrganisationHasItsLimitAndLeavesTheOthersTheirs) {
  auto& w = world({.in_flight = 1000, .per_target = 1000, .per_org = 20, .per_host_name = 1000});
  const auto a = w.route("a"), b = w.route("b"), c = w.route("c", {.org = {2}});
  w.due({a, b, c});
  EXPECT_EQ(w.claim(), (Taken{{a, 10}, {b, 10}, {c, 20}}));
}

TEST_F(Planning, TheChannelsOfAnOrganisationHaveTheirLimitsWhateverTheyCall) {  // N9
  auto& w = world({.in_flight = 1000, .per_target = 1000, .per_org = 1000, .per_org_channels = 5, .per_channel = 3});
  const auto a = w.route("a", {.is_channel = true}), b = w.route("b", {.is_channel = true});
  const auto other = w.route("a", {.org = {2}, .is_channel = true}), intent = w.route("t");
  w.due({a, b, other, intent});
  EXPECT_EQ(w.claim(50), (Taken{{a, 1}, {b, 1}, {other, 1}, {intent, 47}}));
  EXPECT_EQ(w.planner().held_of_channels(kDefaultOrg), 2u);
  EXPECT_EQ(w.planner().held_of_channels({3}), 0u);
  for (int i = 0; i < 5; ++i) {
    w.release(a, 1);
    w.claim(50);
  }
  EXPECT_EQ(w.planner().held_of_channels(kDefaultOrg), 3u) << "nothing is claimed ahead of its place, however quick";
}

// T18
TEST_F(Planning, AChannelEarnsItsPlacesByQuickAnswers) {
  auto& w = world({.in_flight = 1000, .per_target = 1000, .per_org = 1000, .per_org_channels = 5, .per_channel = 3});
  const auto a = w.route("a", {.is_channel = true});
  w.due({a});
  EXPECT_EQ(w.claim_of(a), 1u);
  w.release(a, 1);
  EXPECT_EQ(w.claim_of(a), 2u);
  w.release(a, 2);
  EXPECT_EQ(w.claim_of(a), 3u) << "alone it gets all that a channel may have";
  w.release(a, 3);
  EXPECT_EQ(w.claim_of(a), 3u);
  w.release_after(a, 1, Seconds(5));
  EXPECT_EQ(w.claim_of(a), 0u) << "a slow answer takes one away";
  w.release(a, 1, {.verdict = Verdict::transient, .scope = Scope::whole_target});
  EXPECT_EQ(w.claim_of(a), 0u) << "after a time-out it begins anew";
  w.release(a, 1, {.verdict = Verdict::transient, .scope = Scope::whole_target});
  EXPECT_EQ(w.claim_of(a), 1u);
}

// T18: whatever they were before.
TEST_F(Planning, TwoChannelsThatHangLeaveAPlaceToOthers) {
  for (const std::size_t per_org : {3, 4, 5, 8}) {
    PlannerWorld w(
        Limits{.in_flight = 1000, .per_target = 1000, .per_org = 1000, .per_org_channels = per_org, .per_channel = per_org});
    const auto a = w.route("a", {.is_channel = true}), b = w.route("b", {.is_channel = true});
    w.due({a, b});
    w.claim();
    for (int i = 0; i < 20; ++i)  // both are busy and well
      for (const auto one : {a, b}) {
        w.release(one, 1);
        w.claim();
      }
    EXPECT_LT(w.planner().held_of_channels(kDefaultOrg), per_org);
    const auto good = w.route("good", {.is_channel = true});
    w.due({good});
    EXPECT_EQ(w.claim_of(good), 1u) << per_org;
  }
}

TEST_F(Planning, PlacesAreSharedOutByWeight) {  // N9
  auto& w = world({.in_flight = 40, .per_target = 1000, .per_org = 25, .per_host_name = 1000});
  w.planner().observe(OrgWeights{{{2}, 3}});
  const auto light = w.route("a"), heavy = w.route("b", {.org = {2}});
  w.due({light, heavy});
  EXPECT_EQ(w.claim(20), (Taken{{light, 5}, {heavy, 15}}));
  EXPECT_EQ(w.claim(), (Taken{{light, 10}, {heavy, 10}})) << "who has its limit leaves the rest to others";
  w.release(heavy, 25);
  w.release(light, 15);
  w.planner().observe(OrgWeights{});
  EXPECT_EQ(w.claim(20), (Taken{{light, 10}, {heavy, 10}})) << "it weighs as much as the others again";
}

TEST_F(Planning, WhereThereAreFewerPlacesThanOrganisationsTurnsGoByWeight) {  // N9
  auto& w = world({.in_flight = 1, .per_target = 10, .per_org = 10, .per_host_name = 10});
  w.planner().observe(OrgWeights{{{2}, 3}});
  const std::vector routes{w.route("a"), w.route("b", {.org = {2}}), w.route("c", {.org = {3}})};
  w.due(routes);
  std::map<RouteId, std::size_t> turns;
  for (int i = 0; i < 50; ++i) {
    const auto taken = w.claim();
    ASSERT_EQ(sum(taken), 1u);
    ++turns[taken.begin()->first];
    w.release(taken.begin()->first, 1);
  }
  EXPECT_EQ(turns, (Taken{{routes[0], 10}, {routes[1], 30}, {routes[2], 10}}));
}

TEST_F(Planning, AHostNameHasItsLimitAcrossTargetsAndOrganisations) {
  auto& w = world({.in_flight = 1000, .per_target = 1000, .per_org = 1000, .per_host_name = 10});
  const auto a = w.route("a", {.host_name = "gw"}), b = w.route("b", {.org = {2}, .host_name = "gw"}), c = w.route("c");
  w.due({a, b, c});
  const auto taken = w.claim();
  EXPECT_EQ(taken.at(a) + taken.at(b), 10u);
  EXPECT_EQ(taken.at(c), 10u);
  w.release(a, 1);
  w.release(c, 1);
  const auto more = w.claim();
  EXPECT_EQ(more.at(a) + more.at(b), 11u) << "twice the open requests: the next one waits ready";
  EXPECT_EQ(more.at(c), 11u);
}

TEST_F(Planning, NothingIsClaimedAheadWhereAnswersAreSlow) {  // E9
  auto& w = world({.in_flight = 1000, .per_target = 1000, .per_org = 1000, .per_host_name = 10});
  const auto a = w.route("a");
  w.due({a});
  EXPECT_EQ(w.claim_of(a), 10u) << "nobody knows yet how quick it is";
  w.release_after(a, 10, Seconds(4));
  EXPECT_EQ(w.claim_of(a), 10u) << "what waits for a connection uses up its attempt's time";
  w.release_after(a, 1, Millis(100));
  EXPECT_EQ(w.claim_of(a), 11u);
  w.release_after(a, 11, Seconds(4));
  EXPECT_EQ(w.claim_of(a), 1u);
}

TEST_F(Planning, AOneShotIsNotClaimedAhead) {  // M17
  auto& w = world({.in_flight = 1000, .per_target = 1000, .per_org = 1000, .per_host_name = 10});
  const auto once = w.route("a", {.host_name = "gw", .policy = Policy::one_shot});
  w.due({once});
  EXPECT_EQ(w.claim_of(once), 10u) << "only what can start at once";
  w.release(once, 1);
  EXPECT_EQ(w.claim_of(once), 1u);
  const auto patient = w.route("b", {.host_name = "gw", .policy = Policy::deadline});
  w.due({patient});
  EXPECT_EQ(w.claim_of(patient), 10u) << "twenty in all";
  w.release(patient, 5);
  EXPECT_EQ(w.claim(), (Taken{{patient, 5}})) << "whoever waits for the lower limit does not stop the other";
  w.release(patient, 10);
  w.release(once, 10);
  EXPECT_EQ(w.claim(), (Taken{{once, 5}, {patient, 15}}));
}

TEST_F(Planning, AnActionTypeHasTheConcurrencyOfItsSenders) {
  auto& w = world();
  w.concurrency = {{"sms", 8}, {"gone", 0}};
  const auto a = w.route("a"), gone = w.route("b", {.type = "gone"});
  w.due({a, gone});
  EXPECT_EQ(w.claim(), (Taken{{a, 8}})) << "what cannot run is not claimed";
  w.concurrency["gone"] = 3;
  EXPECT_EQ(w.claim(), (Taken{{gone, 3}})) << "until it can";
}

TEST_F(Planning, BodiesAreBoundedInBytesButOneMayAlwaysGo) {  // E12
  auto& w = world({.in_flight = 100, .per_target = 1000, .per_org = 1000, .per_host_name = 1000, .in_flight_bytes = 1 << 20});
  w.body_bytes = 300'000;
  const auto a = w.route("a");
  w.due({a});
  const auto first = w.planner().plan(1000, w.clock.now());
  EXPECT_EQ(first.bytes, std::size_t{1} << 20) << "so much the claim may bring";
  EXPECT_EQ(sum(w.carry_out(first, 3)), 3u);
  w.due({a});
  EXPECT_TRUE(w.claim().empty()) << "a fourth would not fit";
  w.release(a, 1);
  EXPECT_EQ(w.claim_of(a), 1u);
  w.release(a, 3);
  w.body_bytes = 5'000'000;
  w.release(a, 0);
  EXPECT_GE(w.claim_of(a), 1u);
}

TEST_F(Planning, BodiesThatAreClaimedAsTheyAreStoredAreKnownToBeLarge) {  // E12 T30
  auto& w = world({.in_flight = 100, .per_target = 1000, .per_org = 1000, .per_host_name = 1000, .in_flight_bytes = 1 << 20});
  w.body_bytes = 1'000'000;
  const auto a = w.route("a");
  w.walk({});
  ASSERT_TRUE(w.planner().admit(0, {w.insert_group(a, 1, 1'000'000)}, w.clock.now()));
  ASSERT_FALSE(w.planner().admit(0, {w.insert_group(a, 1, 1'000'000)}, w.clock.now()));
  w.due({a});
  EXPECT_TRUE(w.claim().empty()) << "the second would not fit";
  w.release(a, 1);
  EXPECT_EQ(w.claim_of(a), 1u);
}

TEST_F(Planning, WhoWaitsForBytesDoesNotStopThoseThatHoldFewer) {  // E9 E12
  auto& w = world({.in_flight = 100, .per_target = 1000, .per_org = 1000, .per_host_name = 1000, .in_flight_bytes = 1 << 20});
  const auto large = w.route("large"), small = w.route("small", {.org = {2}});
  w.bodies = {{large, 300'000}, {small, 1'000}};
  w.due({large});
  EXPECT_EQ(w.claim_of(large, 3), 3u);
  w.due({small});
  std::size_t of_small = 0;
  for (int i = 0; i < 10; ++i) of_small += w.claim(2)[small];
  EXPECT_EQ(of_small, 20u) << "also when it holds more places than the one that waits";
}

TEST_F(Planning, WhoWaitsForBytesGetsItsTurnWhenBytesFallFree) {  // E9 E12
  auto& w = world({.in_flight = 2000, .per_target = 2000, .per_org = 2000, .per_host_name = 2000, .in_flight_bytes = 1 << 20});
  const auto large = w.route("large"), small = w.route("small", {.org = {2}});
  w.bodies = {{large, 300'000}, {small, 1'000}};
  w.due({large});
  EXPECT_EQ(w.claim(2, 1), (Taken{{large, 1}})) << "it has no more, and its bodies are known to be large";
  w.release(large, 1);
  w.due({small});
  while (!w.claim().empty()) continue;
  const auto full = w.planner().held();
  ASSERT_GT(full, 900u);
  w.due({large});
  std::size_t back = 0;
  for (bool has_turn = false; !has_turn; ++back) {
    ASSERT_LT(back, full) << "those with small bodies take all that falls free";
    w.release(small, 1);
    has_turn = w.claim().contains(large);
  }
  EXPECT_GT(back, 200u);
}

TEST_F(Planning, ReleasingMoreThanIsHeldDoesNoHarm) {
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  w.claim(2);
  w.release(a, 5);
  w.release({999}, 1);
  EXPECT_EQ(w.planner().held(), 0u);
  EXPECT_EQ(w.claim_of(a), 100u);
}

TEST_F(Planning, IsSafeFromSeveralThreads) {
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&] {
        for (int n = 0; n < 300; ++n) {
          if (w.planner().admit(0, {w.insert_group(a)}, w.clock.now())) w.release(a, 1);
          w.due({a});
        }
      });
    for (int n = 0; n < 300; ++n)
      for (const auto& [id, count] : w.claim(3)) w.release(id, count);
  }
  EXPECT_EQ(w.planner().held(), 0u);
}

// ---- fairness ----

TEST_F(Planning, MoreRoutesThanPlacesAreServedInTurn) {  // E9
  auto& w = world({.in_flight = 4, .per_target = 1000, .per_org = 1000, .per_host_name = 1000});
  std::vector<RouteId> routes;
  for (int i = 0; i < 8; ++i) routes.push_back(w.route("t" + std::to_string(i)));
  w.due(routes);
  Taken served;
  for (int round = 0; round < 20; ++round)
    for (const auto& [id, count] : w.claim()) {
      served[id] += count;
      w.release(id, count);
    }
  ASSERT_EQ(served.size(), 8u) << "nobody starves";
  for (const auto& [id, count] : served) EXPECT_EQ(count, 10u) << id.value;
}

// Nobody could get more without somebody losing who has no more: in each round, of those who got something nobody holds two more
// than somebody who had room left.
TEST(PlanningProperty, IsMaxMinFairByOrganisationAndByTarget) {  // E9
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::minstd_rand random(seed);
    const auto any = [&](unsigned least, unsigned most) { return least + random() % (most - least + 1); };
    const Limits limits{.in_flight = any(1, 60), .per_target = any(1, 20), .per_org = any(1, 40), .per_host_name = 1000};
    PlannerWorld w(limits);
    std::map<OrgId, std::vector<RouteId>> routes;
    const auto orgs = any(1, 4);
    for (unsigned org = 1; org <= orgs; ++org)
      for (unsigned targets = any(1, 6), i = 0; i < targets; ++i)
        routes[{org}].push_back(w.route("t" + std::to_string(i), {.org = {org}}));
    Taken held;
    const auto of_org = [&](OrgId org) {
      std::size_t all = 0;
      for (const auto id : routes.at(org)) all += held[id];
      return all;
    };
    const auto has_room = [&](OrgId org) {
      return of_org(org) < limits.per_org &&
             std::any_of(routes.at(org).begin(), routes.at(org).end(), [&](RouteId id) { return held[id] < limits.per_target; });
    };
    for (const auto& [org, all] : routes) w.due(all);
    for (int round = 0; round < 5; ++round) {
      const auto taken = w.claim();
      for (const auto& [id, count] : taken) held[id] += count;
      std::size_t all = 0;
      bool anybody = false;
      for (const auto& [org, mine] : routes) {
        all += of_org(org);
        anybody = anybody || has_room(org);
      }
      ASSERT_LE(all, limits.in_flight) << "seed " << seed;
      ASSERT_TRUE(all == limits.in_flight || !anybody) << "seed " << seed << ": a place was left";
      for (const auto& [org, mine] : routes) {
        ASSERT_LE(of_org(org), limits.per_org) << "seed " << seed;
        const bool got = std::any_of(mine.begin(), mine.end(), [&](RouteId id) { return taken.contains(id); });
        for (const auto& [other, theirs] : routes)
          ASSERT_FALSE(got && has_room(other) && of_org(org) > of_org(other) + 1)
              << "seed " << seed << ", organisation " << org.value;
        for (const auto id : mine)
          for (const auto sibling : mine)
            ASSERT_FALSE(taken.contains(id) && held[sibling] < limits.per_target && held[id] > held[sibling] + 1)
                << "seed " << seed << ", route " << id.value;
      }
      for (auto& [id, count] : held) {
        const std::size_t back = random() % (count + 1);
        w.release(id, back);
        count -= back;
      }
    }
  }
}

TEST_F(Planning, AnOrganisationWithManyTargetsDoesNotCrowdOutOneWithFew) {  // E9
  auto& w = world({.in_flight = 10, .per_target = 1000, .per_org = 1000, .per_host_name = 1000});
  std::vector<RouteId> crowd;
  for (int org = 1; org <= 2; ++org)
    for (int i = 0; i < 500; ++i) crowd.push_back(w.route("t" + std::to_string(i), {.org = {org}}));
  const auto lone = w.route("lone", {.org = {3}});
  w.due(crowd);
  w.due({lone});
  Taken served;
  for (int round = 0; round < 30; ++round)
    for (const auto& [id, count] : w.claim()) {
      served[id] += count;
      w.release(id, count);
    }
  EXPECT_GE(served[lone], 90u) << "a third of what was served";
  EXPECT_LE(served[lone], 120u);
}

TEST_F(Planning, AtALimitThatTheyShareOrganisationsTakeTurnsToo) {  // E9
  auto& w = world({.in_flight = 1000, .per_target = 1000, .per_org = 1000, .per_host_name = 5});
  std::vector<RouteId> crowd;
  for (int i = 0; i < 100; ++i) crowd.push_back(w.route("t" + std::to_string(i), {.host_name = "gw"}));
  const auto lone = w.route("lone", {.org = {2}, .host_name = "gw"});
  w.due(crowd);
  w.due({lone});
  std::vector<std::pair<RouteId, std::size_t>> out;
  std::size_t served = 0, of_lone = 0;
  for (int round = 0; round < 200; ++round) {
    for (const auto& [id, count] : w.claim()) {
      for (std::size_t i = 0; i < count; ++i) out.emplace_back(id, 1);
      served += count;
      if (id == lone) of_lone += count;
    }
    w.release(out.front().first, 1);  // the oldest comes back
    out.erase(out.begin());
  }
  EXPECT_GE(of_lone * 10, served * 4) << of_lone << " of " << served;
  EXPECT_LE(of_lone * 10, served * 6) << of_lone << " of " << served;
}

// ---- from when there may be work ----

TEST_F(Planning, ARouteThatGaveLessHasNoMoreUntilItIsToldOfAgain) {
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  EXPECT_EQ(sum(w.claim(50, 10)), 10u);
  EXPECT_TRUE(w.claim().empty()) << "it is not asked again";
  w.walk({a});
  EXPECT_EQ(w.claim_of(a, 10), 10u);
  EXPECT_EQ(w.claim_of(a, 10), 10u) << "it gave all that was wanted, so it has more";
  w.walk({});
  EXPECT_TRUE(w.claim().empty()) << "the walk found nothing of it";
}

TEST_F(Planning, WhatIsToldWhileAClaimOrAWalkIsUnderWayIsNotLost) {
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  const auto plan = w.planner().plan(10, w.clock.now());
  w.due({a});
  w.carry_out(plan, 0);
  EXPECT_EQ(w.claim_of(a, 10), 10u);
  const auto revision = w.planner().revision();
  w.due({a});
  w.planner().observe(0, {.now = PlannerWorld::kNow, .routes = {}}, revision, w.clock.now(), w.clock.now());
  EXPECT_EQ(w.claim_of(a, 10), 10u) << "the walk began before it was told";
}

TEST_F(Planning, ACursorSkipsWhatWasClaimedAndIsDroppedAfterASecond) {
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  w.claim(10);
  const auto behind = w.planner().plan(10, w.clock.now());
  EXPECT_GT(behind.shares.at(0).at(0).after_id.value, 0);
  w.carry_out(behind, 3);  // fewer: perhaps something lies before the cursor
  const auto whole = w.planner().plan(10, w.clock.now());
  EXPECT_EQ(whole.shares.at(0).at(0).after_id, DeliveryId{});
  w.carry_out(whole);
  w.clock.pass(Millis(1001));
  EXPECT_EQ(w.planner().plan(10, w.clock.now()).shares.at(0).at(0).after_id, DeliveryId{});
}

TEST_F(Planning, WhatIsDueLaterIsPlannedThen) {
  auto& w = world();
  const auto a = w.route("a");
  w.walk({a}, -Seconds(5));
  w.learn({a});
  EXPECT_TRUE(w.claim().empty());
  EXPECT_EQ(w.planner().next_due(), w.clock.now() + Seconds(5));
  w.clock.pass(Seconds(5));
  EXPECT_EQ(w.claim_of(a, 1), 1u);
}

TEST_F(Planning, ARouteIsLearntOnceBeforeItIsPlanned) {  // E10
  auto& w = world();
  const auto a = w.route("a"), b = w.route("b");
  w.walk({a, b});
  const auto plan = w.planner().plan(1000, w.clock.now());
  EXPECT_TRUE(plan.shares.empty());
  EXPECT_EQ(plan.unknown, (std::vector{a, b}));
  w.learn({a});
  w.planner().skip(b, w.clock.now() + Seconds(60));
  EXPECT_EQ(w.claim(), (Taken{{a, 100}}));
  w.release(a, 100);
  w.clock.pass(Seconds(60));
  EXPECT_EQ(w.planner().plan(1000, w.clock.now()).unknown, (std::vector{b})) << "and then asked for again";
}

// ---- outages ----

TEST_F(Planning, WhileATargetIsDownNothingOfItIsPlannedAndThenAProbeGoesFirst) {  // E14
  auto& w = world();
  const auto down = w.route("down"), also_down = w.route("down"), up = w.route("up");
  w.due({down, also_down, up});
  w.outage("down", Seconds(10));
  EXPECT_EQ(w.claim(10), (Taken{{up, 10}}));
  w.clock.pass(Seconds(10));
  w.release(up, 10);
  auto plan = w.planner().plan(1000, w.clock.now());
  std::vector<RouteShare> probes;
  for (const auto& share : plan.shares.at(0))
    if (share.probe) probes.push_back(share);
  ASSERT_EQ(probes.size(), 1u) << "half-open: one, of all its routes";
  EXPECT_EQ(probes[0].count, 1u);
  w.carry_out(plan);
  w.release(probes[0].route, 1, {.verdict = Verdict::accepted}, true);
  w.release(up, 100);
  const auto after = w.claim();
  EXPECT_EQ(after.at(down) + after.at(also_down), 4u) << "then a few";
}

TEST_F(Planning, AProbeDoesNotWaitForWhatWasUnderWayWhenTheOutageBegan) {  // E14
  auto& w = world();
  const Outcome unreached{.verdict = Verdict::transient, .reach = Reach::not_sent};
  const auto a = w.route("a");
  w.due({a});
  EXPECT_EQ(w.claim_of(a, 10), 10u);
  w.outage("a", Seconds(1));
  EXPECT_EQ(w.claim_of(a), 0u);
  w.clock.pass(Seconds(1));
  EXPECT_EQ(w.claim_of(a), 1u);
  for (int i = 0; i < 4; ++i) {
    w.release(a, 1, unreached);  // from before
    EXPECT_EQ(w.claim_of(a), 0u) << "the probe is under way";
  }
  w.release(a, 1, unreached, true);
  EXPECT_EQ(w.claim_of(a), 1u) << "the next probe";
  w.outage("a", Seconds(2));
  w.release(a, 6, unreached);
  EXPECT_EQ(w.claim_of(a), 0u);
  w.clock.pass(Seconds(2));
  EXPECT_EQ(w.claim_of(a), 0u) << "the probe of before is still under way";
  w.release(a, 1, unreached, true);
  EXPECT_EQ(w.claim_of(a), 1u);
}

TEST_F(Planning, AProbeThatIsAnotherHostsWaits) {  // E14
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  w.outage("a", Seconds(0));
  const auto plan = w.planner().plan(1000, w.clock.now());
  w.planner().denied(0, plan.shares.at(0).at(0), w.clock.now() + Seconds(1));
  EXPECT_EQ(w.planner().held(), 0u);
  EXPECT_TRUE(w.claim().empty());
  w.clock.pass(Seconds(1));
  EXPECT_EQ(w.claim_of(a), 1u);
}

TEST_F(Planning, WhatCannotStartButIsOverItsDeadlineIsAskedForAlone) {  // M7 E8
  auto& w = world({.in_flight = 1000, .per_target = 1000, .per_org = 1000, .per_host_name = 1000});
  w.concurrency = {{"gone", 0}};
  const auto missing = w.route("a", {.type = "gone", .policy = Policy::deadline});
  const auto down = w.route("b", {.policy = Policy::deadline});
  w.learn({missing, down});
  w.outage("b", Seconds(600));
  w.walk({missing, down}, Seconds(30));
  EXPECT_TRUE(w.claim().empty());
  w.walk({missing, down}, Seconds(61));
  const auto plan = w.planner().plan(1000, w.clock.now());
  ASSERT_EQ(plan.shares.at(0).size(), 2u);
  for (const auto& share : plan.shares.at(0)) {
    EXPECT_EQ(share.min_age, Seconds(60)) << "only what surely is";
    EXPECT_EQ(share.count, 500u) << "they share what is free";
  }
}

TEST_F(Planning, WhatIsOverItsDeadlineEndsAsFastAsOtherWorkIsDone) {  // T33
  auto& w = world({.in_flight = 4000, .per_target = 10, .per_org = 10, .per_host_name = 10});
  const auto down = w.route("down", {.policy = Policy::deadline});
  w.learn({down});
  w.outage("down", Seconds(600));
  w.walk({down}, Seconds(61));
  auto plan = w.planner().plan(1000, w.clock.now());
  EXPECT_EQ(plan.shares.at(0).at(0).count, 1000u) << "nothing of it is sent, so no limit of its target holds it up";
  EXPECT_EQ(plan.shares.at(0).at(0).after_id, DeliveryId{});
  w.carry_out(plan);
  const auto next = w.planner().plan(1000, w.clock.now());
  EXPECT_EQ(next.shares.at(0).at(0).count, 1000u) << "there may be more, and no walk is waited for";
  EXPECT_GT(next.shares.at(0).at(0).after_id.value, 0) << "behind those";
  w.carry_out(next, 3);
  w.release(down, 1003);
  EXPECT_TRUE(w.planner().plan(1000, w.clock.now()).shares.empty()) << "that was all";
  w.walk({down}, Seconds(61));
  EXPECT_EQ(w.planner().plan(1000, w.clock.now()).shares.at(0).at(0).after_id, DeliveryId{}) << "from the beginning again";
}

TEST_F(Planning, WhatIsOverItsDeadlineLeavesHalfOfWhatIsFreeToOthers) {  // T33
  auto& w = world({.in_flight = 100, .per_target = 1000, .per_org = 1000, .per_host_name = 1000});
  const auto down = w.route("down", {.policy = Policy::deadline}), up = w.route("up");
  w.learn({down, up});
  w.outage("down", Seconds(600));
  w.walk({down}, Seconds(61));
  w.due({up});
  EXPECT_EQ(w.claim(), (Taken{{down, 50}, {up, 50}}));
}

// ---- rates ----

TEST_F(Planning, ARateThatIsSetAppliesToWhatWaits) {  // T33
  auto& w = world();
  const auto a = w.route("a"), of_another_org = w.route("a", {.org = {2}}), channel = w.route("a", {.is_channel = true});
  w.due({a, of_another_org, channel});
  const auto rate_of = [&](RouteId id) {
    const auto plan = w.planner().plan(1000, w.clock.now());
    std::optional<Rate> rate;
    for (const auto& share : plan.shares.at(0)) {
      if (share.route == id) rate = share.rate;
      w.planner().denied(0, share, w.clock.now());
    }
    return rate;
  };
  EXPECT_FALSE(rate_of(a));
  const Rate ten{10, Seconds(1)};
  w.planner().observe(TargetRates{{"a", ten}}, w.clock.now());
  EXPECT_EQ(rate_of(a), ten);
  EXPECT_EQ(rate_of(of_another_org), ten) << "each organisation has permits of its own, by the registry's rate";
  EXPECT_FALSE(rate_of(channel));
  const auto newer = w.route("a");
  w.due({newer});
  EXPECT_EQ(rate_of(newer), ten);
  w.planner().observe(TargetRates{{"a", std::nullopt}}, w.clock.now());
  EXPECT_FALSE(rate_of(a));
}

TEST_F(Planning, WhatWaitedForASlowerRateGoesByTheNewOneAtOnce) {  // T33
  auto& w = world();
  const auto a = w.route("a", {.rate = Rate{1, std::chrono::hours(1)}});
  w.due({a});
  const auto plan = w.planner().plan(1000, w.clock.now());
  w.planner().denied(0, plan.shares.at(0).at(0), w.clock.now() + std::chrono::hours(1));
  EXPECT_TRUE(w.claim().empty());
  w.planner().observe(TargetRates{{"a", Rate{100, Seconds(1)}}}, w.clock.now());
  EXPECT_EQ(w.claim(), (Taken{{a, 100}}));
}

TEST_F(Planning, ATargetThatTheRegistryHasNoMoreKeepsTheRateOfItsContract) {  // T33
  auto& w = world();
  const Rate slow{1, Seconds(1)};
  const auto a = w.route("a", {.rate = slow});
  w.planner().observe(TargetRates{{"b", std::nullopt}}, w.clock.now());
  w.due({a});
  EXPECT_EQ(w.planner().plan(1000, w.clock.now()).shares.at(0).at(0).rate, slow);
}

TEST_F(Planning, ARateThatIsSetKeepsClaimsOnInsertOut) {  // T33
  auto& w = world();
  const auto a = w.route("a");
  w.walk({});
  EXPECT_TRUE(w.planner().admit(0, {w.insert_group(a)}, w.clock.now()));
  w.planner().observe(TargetRates{{"a", Rate{1, Seconds(1)}}}, w.clock.now());
  EXPECT_FALSE(w.planner().admit(0, {w.insert_group(a)}, w.clock.now())) << "it takes no permit";
}

TEST_F(Planning, AnOperatorsRateGoesBeforeThatOfTheRegistryForOneOrganisation) {  // O5
  auto& w = world();
  const auto a = w.route("a", {.rate = Rate{1, Seconds(1)}});
  const auto of_another_org = w.route("a", {.org = {2}});
  w.due({a, of_another_org});
  const auto rate_of = [&](RouteId id) {
    const auto plan = w.planner().plan(1000, w.clock.now());
    std::optional<Rate> rate;
    for (const auto& share : plan.shares.at(0)) {
      if (share.route == id) rate = share.rate;
      w.planner().denied(0, share, w.clock.now());
    }
    return rate;
  };
  const Rate registry{10, Seconds(1)}, ordered{3, Seconds(1)};
  w.planner().observe(TargetRates{{"a", registry}}, w.clock.now());
  w.planner().observe(OrderedRates{{{kDefaultOrg, "a"}, ordered}}, w.clock.now());
  EXPECT_EQ(rate_of(a), ordered);
  EXPECT_EQ(rate_of(of_another_org), registry);
  w.planner().observe(TargetRates{{"a", std::nullopt}}, w.clock.now());
  EXPECT_EQ(rate_of(a), ordered) << "a reload does not end it";
  EXPECT_FALSE(rate_of(of_another_org));
  w.planner().observe(OrderedRates{}, w.clock.now());
  EXPECT_FALSE(rate_of(a));
}

TEST_F(Planning, WhatIsOverItsDeadlineNeedsNoPermit) {  // E8 E14
  auto& w = world({.in_flight = 1000, .per_target = 1000, .per_org = 1000, .per_host_name = 1000});
  const auto rated = w.route("a", {.policy = Policy::deadline, .rate = Rate{1, std::chrono::hours(1)}});
  w.learn({rated});
  w.walk({rated}, Seconds(61));
  const auto plan = w.planner().plan(1000, w.clock.now());
  ASSERT_EQ(plan.shares.at(0).size(), 1u);
  EXPECT_EQ(plan.shares.at(0)[0].min_age, Seconds(60));
  EXPECT_FALSE(plan.shares.at(0)[0].rate);
}

TEST_F(Planning, WhatIsOverItsDeadlineIsDueNowOnlyIfAPlaceIsFree) {  // E8
  auto& w = world({.in_flight = 10, .per_target = 1000, .per_org = 1000, .per_host_name = 1000});
  w.concurrency = {{"gone", 0}};
  const auto a = w.route("a"), missing = w.route("b", {.type = "gone", .policy = Policy::deadline});
  w.learn({missing});
  w.due({a});
  EXPECT_EQ(w.claim_of(a), 10u);
  w.walk({a, missing}, Seconds(61));
  EXPECT_EQ(w.planner().next_due(), Planner::Moment::max());
  w.release(a, 1);
  EXPECT_LE(w.planner().next_due(), w.clock.now());
}

}  // namespace
}  // namespace waybill
