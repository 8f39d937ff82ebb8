// A planner and routes for it: what is due is told, plans are carried out at once, places are given back by hand.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "limits/planner.h"
#include "support/call_builders.h"

namespace waybill::testing {

class PlannerWorld {
 public:
  explicit PlannerWorld(const Limits& limits) : limits_(limits) {}

  std::map<std::string, std::size_t> concurrency;  // 1000 for what is not named
  ManualClock clock;

  Planner& planner() {
    if (!planner_)
      planner_ = std::make_unique<Planner>(
          limits_, [this](const std::string& type) { return concurrency.contains(type) ? concurrency.at(type) : 1000; });
    return *planner_;
  }

  struct Spec {
    OrgId org = kDefaultOrg;
    std::string host_name = {};  // its own
    std::string type = "sms";
    Policy policy = Policy::max_attempts;
    bool is_channel = false;
    std::optional<Rate> rate = {};
  };
  RouteId route(const std::string& target) { return route(target, Spec{}); }
  RouteId route(const std::string& target, Spec spec) {
    const RouteId id{static_cast<std::int64_t>(contracts_.size()) + 1};
    const auto host_name = spec.host_name.empty() ? "host" + std::to_string(id.value) : spec.host_name;
    contracts_[id] = {spec.org, std::make_shared<const Contract>(
                                    Contract{.target = target,
                                             .action_type = spec.type,
                                             .url = "https://" + host_name + "/",
                                             .destination = "{}",
                                             .policy = spec.policy,
                                             .max_acceptance = spec.policy == Policy::deadline ? Seconds(60) : Seconds(0),
                                             .rate = spec.rate,
                                             .channel = spec.is_channel ? target : ""})};
    return id;
  }
  InsertGroup insert_group(RouteId id, std::size_t count = 1, std::size_t bytes = 0) {
    return {contracts_.at(id).first, id, contracts_.at(id).second, count, bytes};
  }
  // These have a backlog that does not end.
  void due(const std::vector<RouteId>& routes) {
    for (const auto id : routes) planner().wake(0, {insert_group(id)}, clock.now());
  }
  // A walk over the queue tells that these have work since so long.
  void walk(const std::vector<RouteId>& routes, Micros since = Micros{0}) {
    DueRoutes due{.now = {kNow.micros}, .routes = {}};
    for (const auto id : routes) due.routes.push_back({id, contracts_.at(id).first, kNow - since});
    planner().observe(0, due, planner().revision(), clock.now(), clock.now() + Millis(1000));
  }
  void learn(const std::vector<RouteId>& routes) {
    for (const auto id : routes) planner().learn(id, *contracts_.at(id).second);
  }
  // One plan, carried out: each share gets `rows` of what it asks for, or all.
  std::map<RouteId, std::size_t> claim(std::size_t most = 1000, std::optional<std::size_t> rows = {}) {
    return carry_out(planner().plan(most, clock.now()), rows);
  }
  std::map<RouteId, std::size_t> carry_out(const ClaimPlan& plan, std::optional<std::size_t> rows = {}) {
    std::map<RouteId, std::size_t> taken;
    for (const auto& [shard, shares] : plan.shares)
      for (const auto& share : shares) {
        std::vector<ClaimedRow> claimed(std::min(rows.value_or(share.count), share.count));
        const std::size_t size = bytes_of_one(share.route);
        std::vector<const ClaimedRow*> told;
        for (auto& row : claimed) {
          row.delivery = {++delivery_};
          row.route = share.route;
          row.due = {delivery_};
          row.body_bytes = size;
          row.payload = std::string(size, 'x');
          told.push_back(&row);
        }
        planner().claimed(shard, share, told, clock.now());
        if (!claimed.empty()) taken[share.route] = claimed.size();
      }
    return taken;
  }
  std::size_t claim_of(RouteId id, std::size_t most = 1000) {
    const auto taken = claim(most);
    return taken.contains(id) ? taken.at(id) : 0;
  }
  // So many attempts of it are through.
  // They took so long.
  void release_after(RouteId id, std::size_t count, Micros took) {
    const JobHead job{.route = id, .body_bytes = bytes_of_one(id)};
    planner().release(std::vector<Finished>(count, {.job = job, .outcome = Outcome{}, .finished_at = Timestamp{} + took}),
                      clock.now());
  }
  void release(RouteId id, std::size_t count, Outcome outcome = {}, bool probe = false) {
    const JobHead job{
        .route = id, .claimed_mono = claimed_at.value_or(clock.now()), .body_bytes = bytes_of_one(id), .probe = probe};
    planner().release(std::vector<Finished>(count, {.job = job, .outcome = outcome, .started_at = kNow, .finished_at = kNow}),
                      clock.now());
  }
  // Its cooldown ends after `length`; the outage began `lasted` ago.
  void outage(const std::string& target, Micros length, Micros lasted = Seconds(1000)) {
    planner().observe(Cooldowns{kNow, {{kDefaultOrg, target, kNow + length, "down", kNow - lasted}}}, clock.now());
  }
  void outages_end() { planner().observe(Cooldowns{kNow, {}}, clock.now()); }

  static constexpr Timestamp kNow{1'000'000'000};
  std::optional<Clock::Monotonic> claimed_at;  // of what is released; none: now
  std::size_t body_bytes = 100;
  std::map<RouteId, std::size_t> bodies;  // of routes that have others

 private:
  std::size_t bytes_of_one(RouteId id) const { return bodies.contains(id) ? bodies.at(id) : body_bytes; }

  Limits limits_;
  std::map<RouteId, std::pair<OrgId, std::shared_ptr<const Contract>>> contracts_;
  std::unique_ptr<Planner> planner_;
  std::int64_t delivery_ = 0;
};

}  // namespace waybill::testing
