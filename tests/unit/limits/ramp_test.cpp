// After an outage: how many deliveries of the target may be under way, and how fast that grows.  E14 T34
#include <gtest/gtest.h>

#include <vector>

#include "unit/limits/planner_world.h"

namespace waybill {
namespace {

using testing::PlannerWorld;
using Steps = std::vector<std::size_t>;

constexpr Limits kRoomy{.in_flight = 20'000, .per_target = 4000, .per_org = 20'000, .per_host_name = 20'000};
const Outcome kRefused{.verdict = Verdict::transient, .reach = Reach::answered, .scope = Scope::whole_target};

class Ramp : public ::testing::Test {
 protected:
  PlannerWorld& world(const Limits& limits = kRoomy) {
    if (!world_) world_ = std::make_unique<PlannerWorld>(limits);
    world_->concurrency = {{"sms", 20'000}};
    return *world_;
  }
  // Of each answer's time: what is claimed in it comes back at its end.
  Steps steps(RouteId route, int count) {
    Steps taken;
    for (int i = 0; i < count; ++i) {
      taken.push_back(world().claim_of(route, 20'000));
      world().release(route, taken.back());
    }
    return taken;
  }
  // It holds so many when the outage begins, and gets through again after `away`, when nothing of it is under way.
  void outage_at(RouteId route, std::size_t held, Micros away) {
    ASSERT_EQ(world().claim_of(route, held), held);
    world().release(route, 1, kRefused);
    world().outage("a", Millis(0), away);
    world().release(route, held - 1, kRefused);
    world().outages_end();
  }

 private:
  std::unique_ptr<PlannerWorld> world_;
};

// ---- what is known of it ----

TEST_F(Ramp, AfterAShortOutageHalfOfWhatItTookGoesAtOnce) {  // T34
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  outage_at(a, 4000, Seconds(2));
  EXPECT_EQ(steps(a, 3), (Steps{2000, 4000, 4000})) << "full within three answers' times";
}

TEST_F(Ramp, TheProbesAnswerBeginsItToo) {  // T34
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  ASSERT_EQ(w.claim_of(a, 1000), 1000u);
  w.outage("a", Millis(0), Seconds(2));
  w.release(a, 1000, kRefused);
  ASSERT_EQ(w.claim_of(a, 20'000), 1u) << "half-open";
  w.release(a, 1, {.verdict = Verdict::accepted}, true);
  EXPECT_EQ(w.claim_of(a, 20'000), 500u);
}

TEST_F(Ramp, EachMinuteThatItWasAwayHalvesItsBeginning) {  // T34
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  outage_at(a, 4000, std::chrono::minutes(3));
  EXPECT_EQ(steps(a, 4), (Steps{250, 1000, 4000, 4000}));
}

TEST_F(Ramp, AfterALongOutageItBeginsWithAFewAndQuadruples) {  // T34
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  outage_at(a, 4000, std::chrono::hours(3));
  EXPECT_EQ(steps(a, 7), (Steps{4, 16, 64, 256, 1024, 4000, 4000}));
}

TEST_F(Ramp, WhatWasRefusedIsNoReasonToSendMore) {  // T34
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  w.outage("a", Millis(0));
  w.outages_end();
  EXPECT_EQ(steps(a, 2), (Steps{4, 16}));
  ASSERT_EQ(w.claim_of(a, 20'000), 64u);
  w.release(a, 64, kRefused);
  EXPECT_EQ(w.claim_of(a, 20'000), 64u);
}

TEST_F(Ramp, WhatWasUnderWayBeforeLeavesNoPlaces) {  // T34
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  ASSERT_EQ(w.claim_of(a, 1000), 1000u);
  const auto before = w.clock.now();
  w.clock.pass(Seconds(1));
  w.outage("a", Millis(0));
  w.outages_end();
  EXPECT_EQ(w.claim_of(a, 20'000), 4u);
  w.claimed_at = before;
  w.release(a, 1000, kRefused);
  EXPECT_EQ(w.claim_of(a, 20'000), 0u) << "nothing has got through yet";
  w.claimed_at.reset();
  w.release(a, 4);
  EXPECT_EQ(w.claim_of(a, 20'000), 16u);
}

TEST_F(Ramp, WhatItTookIsRememberedForSomeSeconds) {  // T34
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  ASSERT_EQ(w.claim_of(a, 4000), 4000u);
  w.release(a, 4000);
  w.clock.pass(Seconds(5));
  outage_at(a, 1, Seconds(2));
  EXPECT_EQ(w.claim_of(a, 20'000), 2000u) << "what was under way ended before this host heard of the outage";
  w.release(a, 2000);
  w.clock.pass(Seconds(30));
  outage_at(a, 100, Seconds(2));
  EXPECT_EQ(w.claim_of(a, 20'000), 50u) << "it has taken no more of late";
}

TEST_F(Ramp, ASecondOutageSoonAfterDoesNotBeginItAnew) {  // T34
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  outage_at(a, 4000, Seconds(2));
  for (int i = 0; i < 5; ++i) {
    w.clock.pass(Seconds(1));
    outage_at(a, 3, Seconds(1));
  }
  EXPECT_EQ(w.claim_of(a, 20'000), 2000u);
}

TEST_F(Ramp, NoMoreThanWereOpenIsRemembered) {  // T34
  auto& w = world({.in_flight = 20'000, .per_target = 4000, .per_org = 20'000, .per_host_name = 500});
  const auto a = w.route("a");
  w.due({a});
  ASSERT_EQ(w.claim_of(a, 500), 500u);
  w.release_after(a, 500, Millis(10));  // quick: the next are claimed ahead
  outage_at(a, 1000, Seconds(2));
  EXPECT_EQ(w.claim_of(a, 20'000), 250u) << "half of the requests that were open, not of what was claimed ahead";
}

// ---- its end ----

TEST_F(Ramp, EndsAtTheOrdinaryLimit) {  // E14
  auto& w = world({.in_flight = 2000, .per_target = 500, .per_org = 2000, .per_host_name = 2000});
  const auto a = w.route("a");
  w.due({a});
  w.outage("a", Seconds(1));
  w.outages_end();
  EXPECT_EQ(steps(a, 8), (Steps{4, 16, 64, 256, 500, 500, 500, 500}));
}

TEST_F(Ramp, GrowsOnlyWithWhatComesBack) {  // E14
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  w.outage("a", Seconds(1));
  w.outages_end();
  for (int i = 0; i < 3; ++i) {
    w.claim(1000, 0);  // another host was faster
    w.due({a});
  }
  const auto plan = w.planner().plan(1000, w.clock.now());
  w.planner().denied(0, plan.shares.at(0).at(0), w.clock.now());
  EXPECT_EQ(w.claim_of(a), 4u);
}

TEST_F(Ramp, IsForgottenWithTheLastOfItsWork) {  // E14
  auto& w = world();
  const auto a = w.route("a");
  for (const bool looks_at_outages : {false, true}) {
    w.due({a});
    w.outage("a", Seconds(1));
    w.outages_end();
    w.walk({});
    if (looks_at_outages) w.outages_end();
    w.due({a});
    EXPECT_EQ(w.claim_of(a), 1000u);
    w.release(a, 1000);
  }
}

TEST_F(Ramp, WhatItTookIsRememberedWhenItHasNoWork) {  // T34
  auto& w = world();
  const auto a = w.route("a");
  w.due({a});
  ASSERT_EQ(w.claim_of(a, 400), 400u);
  w.release(a, 400);
  w.walk({});
  w.clock.pass(Seconds(1));
  w.due({a});
  outage_at(a, 1, Seconds(2));
  EXPECT_EQ(w.claim_of(a, 20'000), 200u);
}

}  // namespace
}  // namespace waybill
