// Plugins that keep the rules, carried out for real: requests, timers, limits, ends.  H2 H4 I1
#include <gtest/gtest.h>

#include "unit/senders/plugin_world.h"
#include "unit/services/scripted_server.h"

namespace waybill {
namespace {

using testing::Connection;
using testing::PluginWorld;
using testing::ScriptedServer;

TEST(PluginSender, AnAcceptedJobComesBackWithWhatThePluginSaid) {
  std::string got;
  ScriptedServer gateway([&](Connection& connection) {
    got = connection.receive();
    connection.answer(200, R"({"id":1})");
  });
  PluginWorld world{{"good"}};
  auto job = world.job("good", "target", gateway.url());
  job.history.attempt_count = 2;
  const auto finished = world.run(std::move(job));
  EXPECT_EQ(finished.how, Finished::How::attempted);
  ASSERT_TRUE(finished.outcome);
  EXPECT_EQ(finished.outcome->verdict, Verdict::accepted);
  EXPECT_EQ(finished.outcome->reach, Reach::answered);
  EXPECT_EQ(finished.outcome->code, 200);
  EXPECT_EQ(finished.outcome->result, R"({"id":1})");
  EXPECT_EQ(finished.job.attempt(), 3u);
  EXPECT_EQ(finished.job.idempotency_key, "key-1");
  EXPECT_LE(finished.started_at, finished.finished_at);
  EXPECT_GE(finished.started_at.micros, 1'000'000'000);
  EXPECT_NE(got.find("X-Key: key-1\r\n"), std::string::npos);
  EXPECT_NE(got.find("X-Delivery: 1\r\n"), std::string::npos);
  EXPECT_TRUE(got.ends_with("\r\n\r\npayload"));
  EXPECT_TRUE(world.executor->stop(Millis(10'000)));
}

TEST(PluginSender, ManyJobsShareKeptConnectionsAndEachComesBackOnce) {
  ScriptedServer gateway([](Connection& connection) {
    while (!connection.receive().empty()) connection.answer(200, "{}");
  });
  PluginWorld world{{"good"}};
  std::vector<Job> jobs;
  constexpr std::int64_t kJobs = 2000;
  for (std::int64_t i = 0; i < kJobs; ++i) jobs.push_back(world.job("good", "target", gateway.url()));
  world.executor->execute(std::move(jobs));
  for (std::int64_t id = 1; id <= kJobs; ++id) ASSERT_EQ(world.wait(id).outcome->verdict, Verdict::accepted);
  EXPECT_LE(gateway.connections(), static_cast<int>(world.config.limits.per_host_name));
  EXPECT_TRUE(world.executor->stop(Millis(10'000)));
  EXPECT_EQ(world.executor->in_flight(), 0u);
}

TEST(PluginSender, ABlockingActionTypeHasAThreadForEachWorker) {
  PluginWorld world{{"good"}};
  EXPECT_EQ(world.executor->concurrency("good_blocking"), 2u);
  EXPECT_EQ(world.executor->concurrency("good"), world.config.limits.in_flight);
  EXPECT_EQ(world.executor->concurrency("nobody"), 0u);
  for (int i = 0; i < 50; ++i) world.start(world.job("good_blocking", "x"));
  for (int id = 1; id <= 50; ++id) EXPECT_EQ(world.wait(id).outcome->verdict, Verdict::accepted);
}

// The host was stopped, or its machine slept, between its claim and the call of the plugin: another host may have it by now.
TEST(PluginSender, NothingIsBegunPastItsLease) {  // E7
  PluginWorld world{{"good"}};
  auto late = world.job("good_blocking", "x");
  late.begin_before = world.clock.now() + Seconds(30);
  world.clock.away = Seconds(31);
  const auto finished = world.run(std::move(late));
  EXPECT_EQ(finished.how, Finished::How::unattempted);
  EXPECT_FALSE(finished.outcome);
  auto in_time = world.job("good_blocking", "x");
  in_time.begin_before = world.clock.now() + Seconds(55);
  EXPECT_EQ(world.run(std::move(in_time)).how, Finished::How::attempted);
}

TEST(PluginSender, NothingIsBegunPastItsContractsDeadline) {  // E7
  PluginWorld world{{"good"}};
  auto late = world.job("good_blocking", "x");
  auto contract = *late.contract;
  contract.policy = Policy::deadline;
  contract.max_acceptance = Seconds(30);
  late.contract = std::make_shared<const Contract>(contract);
  world.clock.away = Seconds(31);
  const auto finished = world.run(std::move(late));
  EXPECT_EQ(finished.how, Finished::How::expired);
  EXPECT_FALSE(finished.outcome);
}

TEST(PluginSender, ARequestThatHangsTimesOutBeforeTheHostMustDecide) {
  ScriptedServer gateway([](Connection& connection) { connection.hang(); });
  PluginWorld world{{"good"}, {.attempt_timeout = Millis(1000), .grace = Millis(30'000), .stuck_after = Millis(30'000)}};
  const auto finished = world.run(world.job("good", "x", gateway.url()));
  EXPECT_EQ(finished.outcome->verdict, Verdict::transient);
  EXPECT_EQ(finished.outcome->reach, Reach::maybe_sent);
  EXPECT_EQ(finished.outcome->reason, "network");
}

TEST(PluginSender, StopCancelsWhatHangsAndItStillComesBackOnce) {
  std::atomic<int> received{0};
  ScriptedServer gateway([&](Connection& connection) {
    if (!connection.receive().empty()) ++received;
    connection.hang();
  });
  PluginWorld world{{"good"}};
  world.start(world.job("good", "x", gateway.url()));
  while (received == 0) std::this_thread::yield();
  EXPECT_TRUE(world.executor->stop(Millis(0)));
  const auto finished = world.wait(1);
  EXPECT_EQ(finished.outcome->verdict, Verdict::transient);
  EXPECT_EQ(finished.outcome->reach, Reach::maybe_sent);
}

TEST(PluginSender, SettingsThatThePluginDoesNotTakeMakeItMissing) {
  PluginWorld world{{"bad_create", "picky"}};
  for (const auto* type : {"create_throws", "create_refuses", "create_no_table", "picky", "nobody"}) {
    const auto finished = world.run(type, "x");
    EXPECT_EQ(finished.how, Finished::How::unattempted) << type;
    EXPECT_TRUE(finished.not_before) << type;
    EXPECT_EQ(world.executor->state(type), Executor::State::missing) << type;
  }
  EXPECT_TRUE(world.log.contains("relay.port: must be \xEF\xBF\xBD a port"));
}

}  // namespace
}  // namespace waybill
