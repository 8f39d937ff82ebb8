// What intents cost that name no target of the registry, and what a token with targets may do.  S1 S8 D9
#include "api/intent_routes.h"

#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>

#include "support/call_builders.h"
#include "support/eventually.h"
#include "support/fake_store.h"
#include "unit/api/read_world.h"

namespace waybill {
namespace {

using nlohmann::json;
using testing::FakeStore;
using testing::kBound;
using testing::KeptLog;
using testing::ManualClock;
using testing::ReadWorld;

class IntentRoutes : public ::testing::Test {
 protected:
  static std::vector<std::unique_ptr<IntakeStore>> one_store(FakeStore& store) {
    std::vector<std::unique_ptr<IntakeStore>> all;
    all.push_back(store.intake());
    return all;
  }
  void start(PoolLimits limits = {}) {
    pool.emplace(world.sessions(1), Millis(std::chrono::hours(1)), limits);
    waiters.emplace(*pool, clock);
    pool->start();
    intake.start();
  }
  std::future<http::Response> begin(const std::string& path, const std::string& body,
                                    std::shared_ptr<const http::Scope> scope = nullptr) {
    const auto promise = std::make_shared<std::promise<http::Response>>();
    for (const auto& route : intent_routes({intake, registry, *pool, *waiters, clock, log, metrics, types})) {
      if (route.method != "POST" || route.path != path) continue;
      http::Request request;
      request.body = body;
      request.principal.scope = std::move(scope);
      route.handle(std::move(request), [promise](http::Response response) { promise->set_value(std::move(response)); });
      break;
    }
    return promise->get_future();
  }
  http::Response post(const std::string& path, const std::string& body, std::shared_ptr<const http::Scope> scope = nullptr) {
    auto future = begin(path, body, std::move(scope));
    if (future.wait_for(kBound) == std::future_status::ready) return future.get();
    ADD_FAILURE() << "no answer came";
    return {};
  }
  static json unknown(int count) {
    json all = json::array();
    for (int i = 0; i < count; ++i)
      all.push_back({{"intentId", "i-" + std::to_string(i)}, {"submissionTarget", "gone"}, {"payload", json::object()}});
    return all;
  }

  ManualClock clock;
  KeptLog log;
  Metrics metrics;
  ReadWorld world;
  FakeStore store;
  LiveRegistry registry{Registry({})};
  const ActionTypes* types = nullptr;
  Intake intake{one_store(store),
                clock,
                {},
                {.claim = [](Shard, const std::vector<InsertGroup>&) { return std::nullopt; },
                 .claimed = [](Shard, const InsertClaim&, std::vector<InsertGroup>, ClaimResult) {},
                 .unconfirmed = [](Shard, const InsertClaim&, const std::vector<InsertGroup>&) {},
                 .is_due = [](Shard, const std::vector<InsertGroup>&) {}},
                log};
  std::optional<ReadPool> pool;
  std::optional<Waiters> waiters;
};

// S1
TEST_F(IntentRoutes, ABatchAsksOnceForAllItsUnknownTargets) {
  start();
  const auto answer = post("/v1/intents:batch", unknown(10'000).dump());
  EXPECT_EQ(answer.status, 200);
  const auto results = json::parse(answer.body).at("results");
  ASSERT_EQ(results.size(), 10'000u);
  for (const auto& one : results) EXPECT_EQ(one.at("status"), 400);
  EXPECT_EQ(world.compare_calls, 1);
}

// S1: nothing of it is handed in then, and the client knows when to try again
TEST_F(IntentRoutes, ABatchThatFindsNoRoomIsRefusedWhole) {
  start({.questions = 1, .bytes = 1 << 20});
  std::promise<void> held, go_on;
  pool->ask([&](ReadPool::Session&) {
    held.set_value();
    go_on.get_future().wait();
  });
  held.get_future().wait();
  auto first = begin("/v1/intents:batch", unknown(10).dump());
  const auto refused = post("/v1/intents:batch", unknown(10).dump());
  EXPECT_EQ(refused.status, 503);
  ASSERT_EQ(refused.headers.size(), 1u);
  EXPECT_EQ(refused.headers[0].first, "Retry-After");
  EXPECT_EQ(post("/v1/intents", unknown(1)[0].dump()).status, 503);
  go_on.set_value();
  EXPECT_EQ(first.get().status, 200);
}

// A plugin that takes payloads with `to` only.
struct PickyTypes final : ActionTypes {
  const ActionType* find(std::string_view) const override { return nullptr; }
  std::vector<std::string> names() const override { return {}; }
  Problems check_destination(std::string_view, const std::string&) const override { return {}; }
  Problems check_settings(std::string_view, const std::string&) const override { return {}; }
  Problems check_payload(std::string_view action_type, const std::string& text) const override {
    if (action_type != "sms" || text.find("\"to\"") != std::string::npos) return {};
    return {{"", 0, "to", "is missing"}};
  }
};

// D9: what the plugin can only reject is refused when it comes in, in a batch each item by itself
TEST_F(IntentRoutes, APayloadThatThePluginCanOnlyRejectIsRefusedWithItsField) {
  const PickyTypes picky;
  types = &picky;
  registry.swap_in(Registry({{.target = "sms.primary", .action_type = "sms", .url = "http://a", .destination = "{}"},
                             {.target = "push.primary", .action_type = "push", .url = "http://a", .destination = "{}"}}));
  start();
  const auto one = [](const char* id, const char* target, const json& payload) {
    return json{{"intentId", id}, {"submissionTarget", target}, {"payload", payload}};
  };
  const auto refused = post("/v1/intents", one("a", "sms.primary", {{"message", "x"}}).dump());
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("payload.to: is missing"), std::string::npos) << refused.body;
  EXPECT_EQ(world.compare_calls, 1);  // one that came in before is still itself
  EXPECT_EQ(post("/v1/intents", one("b", "sms.primary", {{"to", "x"}}).dump()).status, 200);
  EXPECT_EQ(post("/v1/intents", one("c", "push.primary", {{"message", "x"}}).dump()).status, 200);
  const auto batch = json::array({one("d", "sms.primary", json::object()), one("e", "sms.primary", {{"to", "x"}})});
  const auto results = json::parse(post("/v1/intents:batch", batch.dump()).body).at("results");
  EXPECT_EQ(results[0].at("status"), 400);
  EXPECT_EQ(results[1].at("status"), 200);
}

// S8: each item by itself
TEST_F(IntentRoutes, ATokenWithTargetsHandsInForThese) {
  start();
  const auto scope = std::make_shared<const http::Scope>(http::Scope{{"gone"}, {}});
  json items = unknown(3);
  items[1]["submissionTarget"] = "other";
  const auto results = json::parse(post("/v1/intents:batch", items.dump(), scope).body).at("results");
  EXPECT_EQ(results[0].at("status"), 400);
  EXPECT_EQ(results[1].at("status"), 403);
  EXPECT_EQ(results[2].at("status"), 400);
  EXPECT_EQ(post("/v1/intents", items[0].dump(), scope).status, 400);
  EXPECT_EQ(post("/v1/intents", items[1].dump(), scope).status, 403);
}

}  // namespace
}  // namespace waybill
