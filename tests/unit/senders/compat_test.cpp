// Plugins that were built with the headers of ABI 1.0, 1.2 and 1.3 run in today's host: accepted, rejected, retried, cancelled.
// H1
#include <gtest/gtest.h>

#include "unit/senders/plugin_world.h"
#include "unit/services/scripted_server.h"

namespace waybill {
namespace {

using testing::Connection;
using testing::PluginWorld;
using testing::ScriptedServer;

class APluginOfAbi10 : public ::testing::TestWithParam<std::string> {  // the language it is written in
 protected:
  APluginOfAbi10() { world.transport = testing::insecure; }
  Finished run(const std::string& url) { return world.run(world.job(action_type, "target", url)); }
  // What becomes of one job whose receiver answers so.
  Outcome answered(int status, std::string_view body = "", std::string_view headers = "") {
    ScriptedServer receiver([&](Connection& connection) {
      got = connection.receive();
      connection.answer(status, body, headers);
    });
    return run(receiver.url()).outcome.value_or(Outcome{});
  }

  const std::string action_type = "compat_" + GetParam();
  const std::string file = "../compat/compat_v1_0_" + GetParam();
  std::string got;
  PluginWorld world{{file.c_str()}, PluginWorld::kPatient, {{"compat", {Secret("key")}}}};
};

TEST_P(APluginOfAbi10, IsLoadedWithItsMinor) {
  EXPECT_TRUE(world.catalogue->refused().empty());
  ASSERT_EQ(world.catalogue->loaded().size(), 1u);
  EXPECT_EQ(world.catalogue->loaded()[0].abi_minor, 0u);
  EXPECT_EQ(world.catalogue->loaded()[0].version, "1.0");
  ASSERT_NE(world.catalogue->find(action_type), nullptr);
  EXPECT_EQ(world.catalogue->check_destination(action_type, R"({"url":"http://a"})").size(), 0u);
  const auto problems = world.catalogue->check_destination(action_type, R"({"url":")" + std::string(5000, 'a') + "\"}");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message, "is too long");
}

TEST_P(APluginOfAbi10, DeliversSignedWithTheServicesOfToday) {
  const auto outcome = answered(200, R"({"id":1})");
  EXPECT_EQ(outcome.verdict, Verdict::accepted);
  EXPECT_EQ(outcome.reach, Reach::answered);
  EXPECT_EQ(outcome.code, 200);
  EXPECT_EQ(outcome.result, R"({"id":1})");
  EXPECT_NE(got.find("X-Key: key-1\r\n"), std::string::npos);
  EXPECT_NE(got.find("X-Time: "), std::string::npos);
  EXPECT_NE(got.find("X-Secret: key\r\n"), std::string::npos);
  // HMAC-SHA256 of "payload" with the key "key"
  EXPECT_NE(got.find("X-Signature: 5d98b45c90a207fa998ce639fea6f02ecc8cc3f36fef81d694fb856b4d0a28ca\r\n"), std::string::npos)
      << got;
  EXPECT_TRUE(got.ends_with("\r\n\r\npayload"));
  EXPECT_TRUE(world.log.contains("step=posting"));
}

TEST_P(APluginOfAbi10, IsRejectedForItsDeclaredReasons) {
  const auto outcome = answered(422);
  EXPECT_EQ(outcome.verdict, Verdict::rejected);
  EXPECT_EQ(outcome.reason, "invalid_request");
  EXPECT_EQ(answered(409).reason, "already_seen");
}

TEST_P(APluginOfAbi10, IsToBeTriedAgainWhenTheReceiverIsBusy) {
  const auto outcome = answered(503, "", "Retry-After: 7\r\n");
  EXPECT_EQ(outcome.verdict, Verdict::transient);
  EXPECT_EQ(outcome.reason, "busy");
  EXPECT_EQ(outcome.code, 503);
  EXPECT_EQ(outcome.retry_after, Millis(7000));
}

TEST_P(APluginOfAbi10, IsToBeTriedAgainWhenNobodyAnswers) {
  const auto outcome = run("http://127.0.0.1:1/").outcome.value_or(Outcome{});
  EXPECT_EQ(outcome.verdict, Verdict::transient);
  EXPECT_EQ(outcome.reason, "network");
  EXPECT_EQ(outcome.reach, Reach::not_sent);
}

TEST_P(APluginOfAbi10, EndsWhenItIsCancelled) {
  std::atomic<bool> received{false};
  ScriptedServer receiver([&](Connection& connection) {
    received = !connection.receive().empty();
    connection.hang();
  });
  world.start(world.job(action_type, "target", receiver.url()));
  while (!received) std::this_thread::yield();
  EXPECT_TRUE(world.executor->stop(Millis(0)));
  const auto finished = world.wait(1);
  EXPECT_EQ(finished.outcome->verdict, Verdict::transient);
  EXPECT_EQ(finished.outcome->reason, "network");
  EXPECT_EQ(finished.outcome->reach, Reach::maybe_sent);
}

// H1: its requests end where those of minor 3 have more.
TEST(APluginOfAbi12, HasItsRequestsAuthenticatedAndNotSigned) {
  PluginWorld world{{"../compat/compat_v1_2_cpp"}, PluginWorld::kPatient, {{"compat", {Secret("key")}}}};
  world.transport = testing::insecure;
  ASSERT_EQ(world.catalogue->loaded().size(), 1u);
  EXPECT_EQ(world.catalogue->loaded()[0].abi_minor, 2u);
  std::string got;
  ScriptedServer receiver([&](Connection& connection) {
    got = connection.receive();
    connection.answer(200);
  });
  const auto outcome = world.run(world.job("compat_minor_2", "target", receiver.url())).outcome.value_or(Outcome{});
  EXPECT_EQ(outcome.verdict, Verdict::accepted) << outcome.detail;
  EXPECT_NE(got.find("Authorization: Basic a2V5OmtleQ==\r\n"), std::string::npos) << got;
  EXPECT_EQ(got.find("X-Amz"), std::string::npos);
}

// H1, D9: its descriptors of actions end where those of minor 4 have a schema of the payload.
TEST(APluginOfAbi13, IsHandedAnyPayloadAndSigned) {
  PluginWorld world{{"../compat/compat_v1_3_cpp"}, PluginWorld::kPatient, {{"compat", {Secret("key")}}}};
  world.transport = testing::insecure;
  ASSERT_EQ(world.catalogue->loaded().size(), 1u);
  EXPECT_EQ(world.catalogue->loaded()[0].abi_minor, 3u);
  EXPECT_TRUE(world.catalogue->check_payload("compat_minor_3", "[1]").empty());
  std::string got;
  ScriptedServer receiver([&](Connection& connection) {
    got = connection.receive();
    connection.answer(200);
  });
  const auto outcome = world.run(world.job("compat_minor_3", "target", receiver.url())).outcome.value_or(Outcome{});
  EXPECT_EQ(outcome.verdict, Verdict::accepted) << outcome.detail;
  EXPECT_NE(got.find("AWS4-HMAC-SHA256"), std::string::npos) << got;
}

INSTANTIATE_TEST_SUITE_P(Compat, APluginOfAbi10, ::testing::Values("c", "cpp"),
                         [](const auto& language) { return language.param; });

}  // namespace
}  // namespace waybill
