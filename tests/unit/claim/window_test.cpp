// How much of whose work a host may hold: every limit holds, and what is free is shared evenly.  M17 M18
#include "claim/window.h"

#include <gtest/gtest.h>

#include <thread>

namespace waybill {
namespace {

class Sharing : public ::testing::Test {
 protected:
  Window& window() {
    if (!window_)
      window_ = std::make_unique<Window>(
          limits, [this](const std::string& type) { return concurrency.count(type) ? concurrency.at(type) : 1000; });
    return *window_;
  }
  // A route of its own; facts that are not named are shared by none.
  RouteId route(const std::string& target, OrgId org = kDefaultOrg, const std::string& host_name = "",
                const std::string& type = "sms", Policy policy = Policy::max_attempts) {
    const RouteId id{static_cast<std::int64_t>(facts_.size()) + 1};
    facts_[id] = {org, std::make_shared<const Contract>(Contract{.target = target, .action_type = type, .policy = policy}),
                  host_name.empty() ? "host" + std::to_string(id.value) : host_name};
    return id;
  }
  std::map<std::int64_t, std::size_t> shares(const std::vector<RouteId>& routes, std::size_t most = 1000) {
    std::vector<Window::Demand> demands;
    for (const auto id : routes) demands.push_back({id, &facts_.at(id)});
    std::map<std::int64_t, std::size_t> given;
    for (const auto& [id, count] : window().shares(demands, most)) given[id.value] = count;
    return given;
  }
  std::size_t share(RouteId id, std::size_t most = 1000) {
    const auto given = shares({id}, most);
    return given.empty() ? 0 : given.begin()->second;
  }
  void hold(RouteId id, std::size_t count) { window().hold(id, facts_.at(id), count); }

  Limits limits{.in_flight = 100, .per_target = 1000, .per_org = 1000, .per_host_name = 1000};
  std::map<std::string, std::size_t> concurrency;

 private:
  std::map<RouteId, RouteFacts> facts_;
  std::unique_ptr<Window> window_;
};

TEST_F(Sharing, OneRouteAloneMayTakeAllThatIsFree) {
  const auto a = route("a");
  EXPECT_EQ(share(a), 100u);
  EXPECT_EQ(share(a, 30), 30u) << "but not more than a batch";
  hold(a, 60);
  EXPECT_EQ(share(a), 40u);
  hold(a, 40);
  EXPECT_EQ(share(a), 0u);
  EXPECT_EQ(window().held(), 100u);
}

TEST_F(Sharing, WhatIsFreeIsSharedEvenly) {
  const auto given = shares({route("a"), route("b"), route("c"), route("d")});
  for (const auto& [id, count] : given) EXPECT_EQ(count, 25u);
  EXPECT_EQ(given.size(), 4u);
}

TEST_F(Sharing, WhatOneCannotUseGoesToTheOthers) {
  limits.per_target = 10;
  const auto a = route("full"), b = route("b"), c = route("c");
  hold(a, 10);
  limits.in_flight = 30;
  const auto given = shares({a, b, c});
  EXPECT_EQ(given, (std::map<std::int64_t, std::size_t>{{b.value, 10}, {c.value, 10}}));
}

TEST_F(Sharing, WhatFallsFreeGoesToWhoHoldsLeast) {
  concurrency = {{"sms", 100}};
  const auto slow = route("slow"), also_slow = route("also slow"), fresh = route("fresh");
  hold(slow, 50);
  hold(also_slow, 50);
  EXPECT_TRUE(shares({slow, also_slow, fresh}).empty());
  window().let_go(slow, 1);
  EXPECT_EQ(shares({slow, also_slow, fresh}), (std::map<std::int64_t, std::size_t>{{fresh.value, 1}}))
      << "a backlog on slow targets does not keep a third one out";
  window().let_go(slow, 39);
  EXPECT_EQ(shares({slow, also_slow, fresh}), (std::map<std::int64_t, std::size_t>{{slow.value, 15}, {fresh.value, 25}}));
}

TEST_F(Sharing, ALimitThatRoutesHaveInCommonIsSharedEvenlyToo) {
  limits.in_flight = 1000;
  concurrency = {{"sms", 30}};
  const auto given = shares({route("a"), route("b"), route("c")});
  ASSERT_EQ(given.size(), 3u);
  for (const auto& [id, count] : given) EXPECT_EQ(count, 10u);
}

TEST_F(Sharing, MoreRoutesThanPlacesStillFillThePlaces) {
  limits.in_flight = 3;
  std::vector<RouteId> routes;
  for (int i = 0; i < 10; ++i) routes.push_back(route("t" + std::to_string(i)));
  std::size_t all = 0;
  for (const auto& [id, count] : shares(routes)) all += count;
  EXPECT_EQ(all, 3u);
}

TEST_F(Sharing, ATargetHasItsLimitAcrossItsRoutes) {
  limits.per_target = 10;
  const auto old_contract = route("a"), new_contract = route("a"), other_org = route("a", {2});
  hold(old_contract, 4);
  EXPECT_EQ(share(old_contract), 6u);
  const auto given = shares({old_contract, new_contract, other_org});
  EXPECT_EQ(given.at(old_contract.value) + given.at(new_contract.value), 6u);
  EXPECT_EQ(given.at(other_org.value), 10u) << "the same name in another organisation is another target";
}

TEST_F(Sharing, AnOrganisationHasItsLimitAndLeavesTheOthersTheirs) {
  limits.per_org = 20;
  const auto a = route("a"), b = route("b"), c = route("c", {2});
  const auto given = shares({a, b, c});
  EXPECT_EQ(given.at(a.value) + given.at(b.value), 20u);
  EXPECT_EQ(given.at(c.value), 20u);
}

TEST_F(Sharing, AHostNameHasItsLimitAcrossTargetsAndOrganisations) {
  limits.per_host_name = 10;
  const auto a = route("a", kDefaultOrg, "gw"), b = route("b", {2}, "gw"), c = route("c", kDefaultOrg, "elsewhere");
  const auto given = shares({a, b, c});
  EXPECT_EQ(given.at(a.value) + given.at(b.value), 20u) << "twice the open requests: the next one waits ready";
  EXPECT_EQ(given.at(c.value), 20u);
}

TEST_F(Sharing, AOneShotIsNotClaimedAhead) {  // M17
  limits.per_host_name = 10;
  EXPECT_EQ(share(route("a", kDefaultOrg, "gw", "sms", Policy::one_shot)), 10u) << "only what can start at once";
  EXPECT_EQ(share(route("b", kDefaultOrg, "gw", "sms", Policy::deadline)), 20u);
}

TEST_F(Sharing, AnActionTypeHasTheConcurrencyOfItsSenders) {
  concurrency = {{"sms", 8}, {"gone", 0}};
  EXPECT_EQ(share(route("a")), 8u);
  EXPECT_EQ(share(route("b", kDefaultOrg, "", "gone")), 0u) << "what cannot run is not claimed";
  EXPECT_FALSE(window().can_run("gone"));
  EXPECT_TRUE(window().can_run("sms"));
  hold(route("c"), 5);
  EXPECT_EQ(share(route("d")), 3u);
}

TEST_F(Sharing, WhatHasExpiredEndsWhateverTheLimitsButFewAtATime) {  // M7
  concurrency = {{"gone", 0}};
  limits.in_flight = 1000;
  const auto id = route("a", kDefaultOrg, "", "gone", Policy::deadline);
  const RouteFacts facts{
      kDefaultOrg, std::make_shared<const Contract>(Contract{.target = "a", .action_type = "gone", .policy = Policy::deadline}),
      "gw"};
  const auto given = window().shares({{id, &facts, true}}, 1000);
  ASSERT_EQ(given.size(), 1u);
  EXPECT_GT(given[0].second, 0u);
  EXPECT_LE(given[0].second, 100u);
}

TEST_F(Sharing, WhatIsLetGoIsFreeAgainInEveryLimit) {
  limits = {.in_flight = 10, .per_target = 10, .per_org = 10, .per_host_name = 10};
  concurrency = {{"sms", 10}};
  const auto a = route("a", kDefaultOrg, "gw", "sms", Policy::one_shot);
  hold(a, 10);
  EXPECT_EQ(share(a), 0u);
  window().let_go(a, 4);
  EXPECT_EQ(share(a), 4u);
  window().let_go(a, 6);
  EXPECT_EQ(share(a), 10u);
  EXPECT_EQ(window().held(), 0u);
}

TEST_F(Sharing, LettingGoOfMoreThanIsHeldDoesNoHarm) {
  const auto a = route("a"), b = route("b");
  hold(a, 2);
  window().let_go(a, 5);
  window().let_go(b, 5);
  window().let_go({999}, 1);
  EXPECT_EQ(window().held(), 0u);
  EXPECT_EQ(share(a), 100u);
}

TEST_F(Sharing, IsSafeFromSeveralThreads) {
  const auto a = route("a");
  hold(a, 1);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int n = 0; n < 500; ++n) {
          hold(a, 1);
          share(a);
          window().let_go(a, 1);
        }
      });
  }
  EXPECT_EQ(window().held(), 1u);
}

}  // namespace
}  // namespace waybill
